/** The rows of `sim` and `demo` in the list of commands. */
import type { CommandRow } from '../command.ts';

export const SIMULATOR_COMMANDS: readonly CommandRow[] = [
  {
    name: 'sim',
    about: 'serve a simulated Proxmox VE cluster over HTTPS',
    options: [
      {
        flags: '--listen <address:port>',
        about: 'where to listen; port 0 picks a free one',
        byDefault: '127.0.0.1:8006',
      },
      {
        flags: '--world <file>',
        about: 'world file, or "default", "bare", "bare-cluster" or "recorded"',
        byDefault: 'default',
      },
      { flags: '--seed <seed>', about: 'seed for everything random', byDefault: '1' },
      { flags: '--speed <factor>', about: 'how much faster than real time', byDefault: '1' },
      {
        flags: '--faults <rules>',
        about: 'rules such as "lock:qemu/*/config@2x3,cut-after:clone@1", a file of them, or "seeded"',
      },
      {
        flags: '--fetch-loopback',
        about: 'let nodes really download files that this machine serves on loopback addresses',
      },
      {
        flags: '--ui',
        about: 'also serve a page on 127.0.0.1: nodes, VMs, tasks, locks, and faults to switch on and off',
      },
    ],
    load: async () => (await import('../commands/sim.ts')).runSim,
  },
  {
    name: 'demo',
    about: 'watch it work: a simulated cluster, five VMs, from the first plan to an empty second one',
    options: [
      { flags: '--speed <factor>', about: 'how much faster than real time', byDefault: '10' },
      { flags: '--ui', about: 'watch it in a browser as well: serves the page of ui, and starts when it is open' },
    ],
    load: async () => (await import('../commands/demo/demo.ts')).runDemo,
  },
];
