/** Numbers as the server writes and reads them: plain decimals, never with an exponent. */
import { invariant } from '../../base/assert.ts';

/** The shortest plain spelling: `0.5`, `32`, `0.00000095367431640625`. */
export function printDecimal(value: number): string {
  invariant(Number.isFinite(value), `${value} cannot be sent: only finite numbers have a decimal spelling.`);
  if (Number.isInteger(value)) return BigInt(value).toString();
  const [mantissa = '', exponent] = Math.abs(value).toString().split('e-');
  const magnitude =
    exponent === undefined ? mantissa : `0.${'0'.repeat(Number(exponent) - 1)}${mantissa.replace('.', '')}`;
  return value < 0 ? `-${magnitude}` : magnitude;
}

/** One spelling per number, without rounding: `1.50` and `01.5` become `1.5`. Other texts are returned unchanged. */
export function canonicalDecimal(text: string): string {
  const match = /^([+-]?)(\d+)(?:\.(\d+))?$/.exec(text.trim());
  if (!match) return text;
  const whole = (match[2] ?? '').replace(/^0+(?=\d)/, '');
  const fraction = (match[3] ?? '').replace(/0+$/, '');
  const magnitude = fraction === '' ? whole : `${whole}.${fraction}`;
  return match[1] === '-' && magnitude !== '0' ? `-${magnitude}` : magnitude;
}
