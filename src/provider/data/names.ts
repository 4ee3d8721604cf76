/** The names of the data sources in the host. */
export const DATA_SOURCES = [
  'proxwright_nodes',
  'proxwright_permissions',
  'proxwright_placement',
  'proxwright_storages',
  'proxwright_template',
  'proxwright_templates',
  'proxwright_vm',
  'proxwright_vms',
] as const;

export type DataSourceName = (typeof DATA_SOURCES)[number];
