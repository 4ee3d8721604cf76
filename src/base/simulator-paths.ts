/**
 * Paths of a simulator's server that Proxmox does not have: its self-description, and the ports of its guests. The
 * network of simulated guests exists nowhere else, so only the simulator can say which port answers.
 */
export const SIMULATOR_PATH = '/proxwright-simulator';

export function guestPortPath(address: string, port: number): string {
  return `${SIMULATOR_PATH}/guests/${address}/ports/${port}`;
}

export function parseGuestPortPath(path: string): { readonly address: string; readonly port: number } | undefined {
  const [, address, port] = /^\/proxwright-simulator\/guests\/([0-9a-fA-F.:]+)\/ports\/(\d{1,5})$/.exec(path) ?? [];
  return address === undefined ? undefined : { address, port: Number(port) };
}
