/** All data sources. Most configurations use none, so a process loads them with the first call that names one. */
import type { DepsOf } from '../adapter/deps.ts';
import { template, templates } from '../kinds/template/data.ts';
import { placement } from '../kinds/vm/data/placement.ts';
import { vm } from '../kinds/vm/data/vm.ts';
import { vms } from '../kinds/vm/data/vms.ts';
import type { DataSource } from '../provider.ts';
import { dataSource } from './define.ts';
import type { DataSourceName } from './names.ts';
import { nodes } from './nodes.ts';
import { permissions } from './permissions.ts';
import { storages } from './storages.ts';

export function dataSources(depsOf: DepsOf): Readonly<Record<DataSourceName, DataSource>> {
  return {
    proxwright_nodes: dataSource(nodes, depsOf),
    proxwright_permissions: dataSource(permissions, depsOf),
    proxwright_placement: dataSource(placement, depsOf),
    proxwright_storages: dataSource(storages, depsOf),
    proxwright_template: dataSource(template, depsOf),
    proxwright_templates: dataSource(templates, depsOf),
    proxwright_vm: dataSource(vm, depsOf),
    proxwright_vms: dataSource(vms, depsOf),
  };
}
