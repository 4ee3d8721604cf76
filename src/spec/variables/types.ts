/** The types of variables: which values fit each, and how the text of --var is converted. */

import { parseInterface, parseIp } from '../../base/values/ip-address.ts';
import { parseByteSize, parseDuration } from '../../base/values/units.ts';
import type { ScalarValue } from '../located.ts';

interface ScalarType {
  readonly fits: (value: ScalarValue) => boolean;
  /** Completes "must be …". */
  readonly expects: string;
  /** Text from the command line or the environment as this type; text by default. */
  readonly fromText?: (text: string) => ScalarValue;
  /** What `min` and `max` compare; absent if they do not apply. */
  readonly magnitude?: (value: ScalarValue) => number | undefined;
}

const isText = (value: ScalarValue): value is string => typeof value === 'string';
const asNumber = (text: string): ScalarValue => (/^[+-]?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text);
const numeric = (value: ScalarValue): number | undefined => (typeof value === 'number' ? value : undefined);
const matching = (pattern: RegExp) => (value: ScalarValue) => isText(value) && pattern.test(value);

const SEMVER = /^v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/;

export const SCALAR_TYPES: Readonly<Record<string, ScalarType>> = {
  string: { fits: isText, expects: 'text' },
  integer: { fits: Number.isSafeInteger, expects: 'a whole number', fromText: asNumber, magnitude: numeric },
  number: { fits: Number.isFinite, expects: 'a number', fromText: asNumber, magnitude: numeric },
  bool: {
    fits: (value) => typeof value === 'boolean',
    expects: 'true or false',
    fromText: (text) => (text === 'true' ? true : text === 'false' ? false : text),
  },
  'pci-address': {
    fits: matching(/^([0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[01][0-9a-fA-F](\.[0-7])?$/),
    expects: 'a PCI address such as 0000:01:00 or 01:00.0',
  },
  cidr: {
    fits: (value) => isText(value) && parseInterface(value) !== undefined,
    expects: 'an address with a prefix length such as 10.0.20.0/24',
  },
  ip: { fits: (value) => isText(value) && parseIp(value) !== undefined, expects: 'an IP address such as 10.0.20.11' },
  mac: {
    fits: matching(/^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$/),
    expects: 'a MAC address such as BC:24:11:00:00:01',
  },
  semver: { fits: matching(SEMVER), expects: 'a version such as 1.12.4' },
  size: {
    fits: (value) => isText(value) && parseByteSize(value) !== undefined,
    expects: 'a size with its unit such as 8GiB',
    magnitude: (value) => (isText(value) ? parseByteSize(value) : undefined),
  },
  duration: {
    fits: (value) => isText(value) && parseDuration(value) !== undefined,
    expects: 'a duration with its unit such as 30s',
    magnitude: (value) => (isText(value) ? parseDuration(value) : undefined),
  },
};

/** `vm` is a map of VM fields; they are checked where the variable is used. */
export const COLLECTION_TYPES = ['list', 'map', 'vm'] as const;
export const VARIABLE_TYPES = [...Object.keys(SCALAR_TYPES), ...COLLECTION_TYPES];
export const ELEMENT_TYPES = [...Object.keys(SCALAR_TYPES), 'vm'];
