/**
 * What the engine costs (requests, waits, virtual time: counted in the simulator, the same on every machine), how fast the
 * simulator and the client are, and how their cost grows with the world. Everything is measured in one run on one machine
 * and printed; nothing is asserted, because a time says as much about the machine as about the program. The ratios are
 * worth comparing between machines, the rates are not.
 *
 *   npm run bench [-- --json] [-- --only engine,command,provider,stores,rates,growth] [-- --seconds N] [-- --sizes 1000,10000]
 *   npm run bench -- --peer PATH [--counts 5,50,200]
 *
 * `--peer` measures our provider beside another one, whose executable is at PATH, with so many VMs, and nothing else.
 * `--seconds` bounds a single measurement of rates and growth (0.7 by default, about half a minute in all).
 */
import { parseArgs } from 'node:util';
import { benchCommand } from './bench/command.ts';
import { benchEngine } from './bench/engine.ts';
import { benchGrowth } from './bench/growth.ts';
import { benchPeer } from './bench/peer.ts';
import { benchProvider } from './bench/provider.ts';
import { benchProviderPlan } from './bench/provider-plan.ts';
import { benchProviderStart } from './bench/provider-start.ts';
import { benchRates } from './bench/rates.ts';
import { benchStores } from './bench/stores.ts';
import { printFigures, printGrowth, printRates } from './bench/tables.ts';

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    only: { type: 'string', default: 'engine,command,provider,stores,rates,growth' },
    seconds: { type: 'string', default: '0.7' },
    sizes: { type: 'string', default: '1000,10000' },
    peer: { type: 'string' },
    counts: { type: 'string', default: '5,50,200' },
  },
});
const budgetMs = Number(values.seconds) * 1000;
const [small = 1_000, large = 10_000] = values.sizes.split(',').map(Number);

const { peer } = values;
const parts = new Set(peer === undefined ? values.only.split(',') : ['peer']);

const say = (text: string) => {
  if (!values.json) console.log(text);
};
say(`node ${process.version}, ${process.platform} ${process.arch}`);
const results: Record<string, unknown> = { node: process.version };

async function part<Result>(name: string, measure: () => Promise<Result>, print: (result: Result) => string) {
  if (!parts.has(name)) return;
  say(`\nmeasuring ${name} …`);
  const result = await measure();
  results[name] = result;
  say(print(result));
}

await part('engine', benchEngine, printFigures);
await part('command', benchCommand, printFigures);
await part(
  'provider',
  async () => [...(await benchProvider()), ...(await benchProviderStart()), ...(await benchProviderPlan())],
  printFigures,
);
await part('stores', benchStores, printFigures);
await part('rates', () => benchRates(budgetMs), printRates);
await part('growth', () => benchGrowth({ small, large }, budgetMs), printGrowth);
if (peer !== undefined) await part('peer', () => benchPeer(peer, values.counts.split(',').map(Number)), printFigures);
if (values.json) console.log(JSON.stringify(results, undefined, 2));
