// The outbound parts of a process: the rules for the addresses that it may reach, and the channels.
import { readFileSync } from 'node:fs';
import { nodeEngine, ownEngine } from '@carillon/http2';
import { type Config, variables } from '../../config.ts';
import type { Clock } from '../../ground/database/clock.ts';
import type { Log } from '../../ground/host/log.ts';
import { createAddressGuard, parseOutboundExceptions } from '../../ground/outbound/address-guard.ts';
import { createOutboundHttp, type OutboundHttp } from '../../ground/outbound/http.ts';
import { createOutboundSockets } from '../../ground/outbound/socket.ts';
import { createOutboundTransport, type TransportOptions } from '../../ground/outbound/transport.ts';
import { originOfUrl } from '../../ground/outbound/url.ts';
import { transportSettings as apnsSettings, createApns } from '../../sending/channels/apns/send.ts';
import { createFcm, transportSettings as fcmSettings, googleRate } from '../../sending/channels/fcm/send.ts';
import { createThreadedEncryptor } from '../../sending/channels/webpush/encryptor.ts';
import type { EndpointRules } from '../../sending/channels/webpush/endpoint.ts';
import { createWebPush, transportSettings as webPushSettings } from '../../sending/channels/webpush/send.ts';
import type { Paces } from '../../sending/delivery/pace.ts';
import { createSenders, type Senders } from '../../sending/delivery/senders.ts';

export interface Outbound {
  /** The rules for the addresses of browsers and webhooks that may be called. */
  readonly endpointRules: EndpointRules;
  readonly http1: OutboundHttp;
  readonly senders: Senders;
}

/**
 * Reads the certificates that the configuration names, and logs what the configuration allows
 * beyond the usual. Opens no connection yet.
 */
export function openOutbound(
  config: Config,
  { clock, log, paces }: { clock: Clock; log: Log; paces: Paces },
): Outbound {
  const exceptions = parseOutboundExceptions({
    allowCidrs: config.outboundAllowCidrs,
    allowPorts: config.outboundAllowPorts,
    resolve: config.outboundResolve,
    ca: config.outboundCaFile === null ? undefined : readFileSync(config.outboundCaFile, 'utf8'),
  });
  logExceptions(config, log);
  const ownHosts = config.publicUrl === null ? [] : [new URL(config.publicUrl).hostname];
  const endpointRules: EndpointRules = { pushHosts: config.pushHosts, exceptions, ownHosts };
  const sockets = createOutboundSockets(createAddressGuard({ exceptions }));
  const http1 = createOutboundHttp(sockets);
  const engine = config.http2Client === 'own' ? ownEngine : nodeEngine;
  // Each channel has a transport of its own, because providers want their connections treated
  // differently.
  const transportOf = (settings: Partial<TransportOptions>) =>
    createOutboundTransport({ sockets, http1, engine, ...settings });
  const senders = createSenders({
    webpush: createWebPush({
      transport: transportOf(webPushSettings),
      rules: endpointRules,
      clock,
      log,
      encryptor: createThreadedEncryptor(),
    }),
    apns: createApns({
      transport: transportOf(apnsSettings),
      origins: { production: originOfUrl(config.apnsUrl), sandbox: originOfUrl(config.apnsSandboxUrl) },
      clock,
      log,
    }),
    fcm: createFcm({
      transport: transportOf(fcmSettings),
      origin: originOfUrl(config.fcmUrl),
      tokenEndpoint: { ...originOfUrl(config.fcmTokenUrl), path: new URL(config.fcmTokenUrl).pathname },
      clock,
      // The rate follows Google's quota, so another FCM_URL has none.
      rate: config.fcmUrl === variables.FCM_URL ? googleRate : null,
    }),
    fcmTokenUrl: config.fcmTokenUrl,
    paces,
  });
  return { endpointRules, http1, senders };
}

// Logs widened outbound rules at each start, because they are an operator's deliberate act.
function logExceptions(config: Config, log: Log): void {
  const { outboundAllowCidrs, outboundAllowPorts, outboundResolve, outboundCaFile, pushHosts } = config;
  if (outboundAllowCidrs.length > 0)
    log.warn({ cidrs: outboundAllowCidrs }, 'outbound requests may reach these private ranges');
  if (outboundAllowPorts !== '')
    log.warn({ ports: outboundAllowPorts }, 'outbound requests may use these further ports');
  if (outboundResolve !== '')
    log.warn({ resolve: outboundResolve }, 'outbound connections of these hosts go elsewhere');
  if (outboundCaFile !== null)
    log.warn({ file: outboundCaFile }, 'outbound TLS trusts a further certificate authority');
  const providers = {
    APNS_URL: config.apnsUrl,
    APNS_SANDBOX_URL: config.apnsSandboxUrl,
    FCM_URL: config.fcmUrl,
    FCM_TOKEN_URL: config.fcmTokenUrl,
  };
  for (const [variable, url] of Object.entries(providers))
    if (url !== variables[variable as keyof typeof providers])
      log.warn({ variable, url }, 'phones are reached elsewhere than at their real provider');
  if (pushHosts.length > 0) log.info({ hosts: pushHosts }, 'further web push hosts are allowed');
}
