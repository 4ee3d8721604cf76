/** The wire formats of Proxmox VE, shared by the client and the simulator. Pure functions, no input or output. */

export * from './config-comparison.ts';
export * from './config-keys.ts';
export * from './config-texts.ts';
export * from './encoding.ts';
export * from './formats.ts';
export * from './ids.ts';
export * from './property-string.ts';
export * from './scalars.ts';
export * from './volume.ts';
