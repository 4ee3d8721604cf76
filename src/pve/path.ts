/** API paths, built from a template so that a variable part cannot change the structure of the path. */
import { invariant } from '../base/errors.ts';
import { percentEncode } from './wire/encoding.ts';

export interface ApiPath {
  /** Percent-encoded, without `/api2/json`. */
  readonly encoded: string;
  /** For messages. */
  readonly shown: string;
}

/**
 * apiPath`/nodes/${node}/qemu/${vmid}`. The server decodes a path before it splits it and drops empty components,
 * so an empty part or one with a slash would address something else. It is rejected as a bug.
 */
export function apiPath(texts: TemplateStringsArray, ...parts: readonly (string | number)[]): ApiPath {
  for (const part of parts) {
    invariant(
      part !== '' && !/^\.{1,2}$|\//.test(String(part)),
      `${JSON.stringify(part)} cannot be part of the API path ${texts.join('{}')}.`,
    );
  }
  return {
    encoded: texts
      .map((text, index) => text + (index < parts.length ? percentEncode(String(parts[index])) : ''))
      .join(''),
    shown: texts.map((text, index) => text + String(parts[index] ?? '')).join(''),
  };
}

/** A volume id is the only component that may contain slashes; it is always the last. */
export function volumePath(base: ApiPath, volumeId: string): ApiPath {
  invariant(/^[^:/]+:[^/]/.test(volumeId), `${JSON.stringify(volumeId)} is not a volume id.`);
  return {
    encoded: `${base.encoded}/${volumeId.split('/').map(percentEncode).join('/')}`,
    shown: `${base.shown}/${volumeId}`,
  };
}
