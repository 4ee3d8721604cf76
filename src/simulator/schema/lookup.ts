/** Finds the schema of a parameter by the name it is sent under: `net3` is one of the 32 declared as `net[n]`. */
import type { ParamSchema, ParamSchemas } from './types.ts';

export function findParamSchema(params: ParamSchemas, name: string): ParamSchema | undefined {
  if (Object.hasOwn(params, name)) return name.endsWith('[n]') ? undefined : params[name];
  const match = /^([a-z]+)(0|[1-9]\d*)$/.exec(name);
  if (!match) return undefined;
  const family = `${match[1]}[n]`;
  const schema = Object.hasOwn(params, family) ? params[family] : undefined;
  return schema?.count !== undefined && Number(match[2]) < schema.count ? schema : undefined;
}
