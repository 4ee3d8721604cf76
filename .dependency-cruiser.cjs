/** The import order between folders: a folder imports from those named beside it, never the other way round. */
const allowed = {
  base: [],
  pve: ['base'],
  kinds: ['base', 'pve'],
  spec: ['base', 'kinds'],
  state: ['base', 'kinds', 'spec'],
  engine: ['base', 'pve', 'kinds', 'spec', 'state'],
  local: ['base', 'pve', 'kinds', 'spec', 'state', 'engine'],
  rehearse: ['base', 'pve', 'kinds', 'spec', 'state', 'engine', 'simulator'],
  convert: ['base'],
  cli: [
    'base',
    'pve',
    'kinds',
    'spec',
    'state',
    'engine',
    'local',
    'ui',
    'simulator',
    'rehearse',
    'convert',
    'provider',
  ],
  provider: ['base', 'pve', 'kinds', 'spec', 'state', 'engine', 'local', 'convert'],
  ui: ['base', 'kinds', 'state', 'engine'],
};

const layering = Object.entries(allowed).map(([folder, imports]) => ({
  name: `${folder}-imports`,
  comment: `src/${folder} may import only: ${[folder, ...imports].join(', ')}`,
  severity: 'error',
  // A test may look at its subject through what is built on it.
  from: { path: `^src/${folder}/`, pathNot: '\\.test\\.ts$|/testing/' },
  to: { path: '^src/', pathNot: `^src/(${[folder, ...imports].join('|')})/` },
}));

/** Optional peer dependencies, installed here for the tests. */
const DRIVERS = '(^|/)node_modules/(pg|aws4fetch)/';

/** Packages that the build puts into ours, no dependencies of the package and still part of it; of the first one only types. */
const BUNDLED = '(^|/)node_modules/(@bufbuild/protobuf|commander|preact|selfsigned|xz-decompress|yaml)/';

/** The simulator shares the wire vocabulary with the client, never the client itself. */
const simulator = {
  name: 'simulator-imports',
  comment: 'src/simulator may import only: simulator, base, pve/wire',
  severity: 'error',
  from: { path: '^src/simulator/' },
  to: { path: '^src/', pathNot: '^src/(simulator|base|pve/wire)/' },
};

/** `convert` asks the provider about the configurations that it writes, and nothing else. */
const onlyChecks = {
  name: 'cli-asks-provider-to-check',
  comment: 'src/cli may import from src/provider only check.ts',
  severity: 'error',
  from: { path: '^src/cli/', pathNot: '\\.test\\.ts$|/testing/' },
  to: { path: '^src/provider/', pathNot: '^src/provider/check\\.ts$' },
};

/** The provider uses the engine as any other program would. */
const publicEngine = {
  name: 'provider-uses-public-engine',
  comment: 'src/provider may import from src/engine only its public face, index.ts',
  severity: 'error',
  from: { path: '^src/provider/', pathNot: '\\.test\\.ts$|/testing/' },
  to: { path: '^src/engine/', pathNot: '^src/engine/index\\.ts$' },
};

/** A folder of a kind; what all kinds share is beside them. */
const SHARED = '^src/kinds/(fields|privileges|doctor|safety)/';
const ONE_KIND = { path: '^src/(provider/)?kinds/[^/]+/', pathNot: SHARED };

/** The engine goes through the list of kinds: adding one changes nothing there, nor in the state. */
const noKindByName = {
  name: 'engine-knows-no-kind',
  comment:
    'src/engine and src/state may import nothing from the folder of a kind: they ask the members of the contract',
  severity: 'error',
  // The public face names types of kinds for its users.
  from: { path: '^src/(engine|state)/', pathNot: '\\.test\\.ts$|/testing/|^src/engine/index\\.ts$' },
  to: ONE_KIND,
};

/** The contract names no kind. Five files put together what the kinds declare. */
const contractKnowsNoKind = {
  name: 'contract-knows-no-kind',
  comment: 'what all kinds share may import nothing from the folder of a kind, except in the files that list the kinds',
  severity: 'error',
  from: {
    path: ['^src/kinds/[^/]+\\.ts$', SHARED],
    pathNot: '\\.test\\.ts$|/testing/|^src/kinds/((stack|observed|recorded|registry)|doctor/examined)\\.ts$',
  },
  to: ONE_KIND,
};

/** The lifecycle of a resource is the same for every kind: one definition object tells them apart. */
const providerKnowsNoKind = {
  name: 'provider-knows-no-kind',
  comment: 'src/provider may import from the folder of a kind only in its own folder of that kind',
  severity: 'error',
  // These three list what there is: resources, data sources, and the resources that a conversion may write.
  from: {
    path: '^src/provider/',
    pathNot: '\\.test\\.ts$|/testing/|^src/provider/(kinds/|check\\.ts$|(data/)?index\\.ts$)',
  },
  to: ONE_KIND,
};

/** The provider needs to know which resources of other providers there are, and nothing of their translation. */
const mappingOnly = {
  name: 'provider-uses-mapping',
  comment: 'src/provider may import from src/convert only mapping/sources.ts',
  severity: 'error',
  from: { path: '^src/provider/', pathNot: '\\.test\\.ts$|/testing/' },
  to: { path: '^src/convert/', pathNot: '^src/convert/mapping/sources\\.ts$' },
};

module.exports = {
  forbidden: [
    ...layering,
    simulator,
    onlyChecks,
    publicEngine,
    noKindByName,
    contractKnowsNoKind,
    providerKnowsNoKind,
    mappingOnly,
    {
      name: 'no-circular',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-tests-in-source',
      severity: 'error',
      from: { path: '^src/', pathNot: '\\.test\\.ts$|/testing/' },
      to: { path: '\\.test\\.ts$|/testing/|^tests/' },
    },
    {
      name: 'no-undeclared-packages',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'], pathNot: DRIVERS },
    },
    {
      name: 'no-dev-packages-in-source',
      severity: 'error',
      from: { path: '^src/', pathNot: '\\.test\\.ts$|/testing/' },
      to: { dependencyTypes: ['npm-dev'], pathNot: [DRIVERS, BUNDLED] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.json'] },
  },
};
