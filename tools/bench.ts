/**
 * How fast the simulator and the client are, and how their cost grows with the world. Everything is measured in one run on
 * one machine and printed; nothing is asserted, because a time says as much about the machine as about the program. The
 * ratios are worth comparing between machines, the rates are not.
 *
 *   npm run bench [-- --json] [-- --seconds N] [-- --sizes 1000,10000]
 *
 * `--seconds` bounds a single measurement (0.7 by default, which makes about half a minute in all).
 */
import { parseArgs } from 'node:util';
import { benchGrowth } from './bench/growth.ts';
import { benchRates } from './bench/rates.ts';
import { printGrowth, printRates } from './bench/tables.ts';

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '0.7' },
    sizes: { type: 'string', default: '1000,10000' },
  },
});
const budgetMs = Number(values.seconds) * 1000;
const [small = 1_000, large = 10_000] = values.sizes.split(',').map(Number);

const note = (line: string) => {
  if (!values.json) console.log(line);
};
note(`node ${process.version}, ${process.platform} ${process.arch}`);
note('measuring rates …');
const rates = await benchRates(budgetMs);
note('measuring growth …');
const growth = await benchGrowth({ small, large }, budgetMs);

if (values.json) console.log(JSON.stringify({ node: process.version, rates, growth }, undefined, 2));
else console.log(`\n${printRates(rates)}\n\n${printGrowth(growth)}`);
