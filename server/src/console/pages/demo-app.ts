/** The app that a first start makes. The pages under /demo exist as long as it does. */
export const demoAppName = 'Demo';
