/** The conversion of Terraform configurations, for the command line. */
export { lintModules } from './lint.ts';
export type { Finding, FindingKind, Trap } from './report.ts';
export type { FieldsOf } from './stack/entries.ts';
export { knownResources } from './stack/known-resources.ts';
export { stackOf } from './stack/stack.ts';
export { readState, type StateResource } from './state.ts';
export { type Conversion, convertFiles, type Files, readModules } from './terraform/convert.ts';
