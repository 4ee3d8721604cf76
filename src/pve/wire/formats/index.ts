/** All property formats of a guest's configuration. Which key has which is said in config-keys.ts. */
export * from './devices.ts';
export * from './drives.ts';
export * from './machine.ts';
export * from './network.ts';
