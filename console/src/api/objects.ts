// The objects that the console shows: those of the API's description, with a few names of our own.
export type * from './types.gen.ts';
export type {
  Device as ListedDevice,
  DeviceWithHistory as Device,
  ExplainedDelivery as Delivery,
  ExplainedDeliveryPage as DeliveryPage,
  MessageWithFailures as Message,
  NamedEngagementReport as EngagementReport,
  NamedRevenueReport as RevenueReport,
} from './types.gen.ts';
