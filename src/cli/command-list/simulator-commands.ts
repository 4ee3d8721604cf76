/** The rows of `sim`, `demo` and `rehearse`, the commands that work on a simulated cluster. */
import type { CommandRow } from '../command.ts';
import { PLANNING_OPTIONS } from '../options.ts';

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

export const REHEARSE: CommandRow = {
  name: 'rehearse',
  about: 'run the apply on a simulated copy of your cluster: what happens, how long it takes, what would fail',
  usesStack: true,
  options: [
    ...PLANNING_OPTIONS,
    { flags: '--interrupt', about: 'also kill that apply at every request, and check that the next one resumes' },
    { flags: '--at <point>', about: 'with --interrupt: only at this point' },
    { flags: '--faults <count>', about: 'also run it in this many storms: locks, lost answers, failing tasks' },
    { flags: '--seed <seed>', about: 'seed of the first storm, and of everything random', byDefault: '1' },
    { flags: '--picture <file>', about: 'write the predicted timeline as an SVG' },
    { flags: '--save <file>', about: 'write the copy to a file for sim --world, without secrets' },
    { flags: '--anonymize', about: 'with --save: replace names and addresses' },
  ],
  help: `
It only reads from the cluster. Durations come from earlier runs of this stack, else they are defaults; it says which.

Examples:
  proxwright rehearse                        before an apply: the timeline, the end, the room it takes
  proxwright rehearse --interrupt            prove the resume, for your stack
  proxwright rehearse --save cluster.json && proxwright sim --world cluster.json`,
  load: async () => (await import('../commands/check/rehearse.ts')).runRehearse,
};
