/** Images and provider blocks of the other providers. */
import type { Row, SourceResource } from './rows.ts';

export const BPG_IMAGE: SourceResource = {
  provider: 'bpg',
  types: ['proxmox_virtual_environment_download_file', 'proxmox_download_file'],
  to: 'proxwright_image',
  vmidFrom: [],
  rows: [
    { from: 'node_name', to: 'node' },
    { from: 'datastore_id', to: 'storage' },
    { from: 'content_type', to: 'content' },
    { from: 'url', to: 'url' },
    { from: 'file_name', to: 'file' },
    { from: 'checksum', to: 'sha256', as: 'checksum' },
    { from: 'checksum_algorithm', drop: 'The attribute is named by the algorithm.' },
    { from: 'decompression_algorithm', to: 'compression' },
    { from: 'upload_timeout', to: 'timeouts.image', as: 'seconds' },
    { from: 'overwrite', drop: 'A changed source or checksum replaces the file; another client’s change is shown.' },
    { from: 'overwrite_unmanaged', drop: 'Proxwright uses an existing file, and never deletes it.' },
    { from: 'verify', cannot: 'Proxmox always verifies the certificate. Set `via = "upload"` to download it here.' },
  ],
  references: [
    { from: 'id', to: 'id' },
    { from: 'size', to: 'size_bytes' },
  ],
};

const NO_SSH = 'Proxwright does not use SSH.';
const VERIFIED =
  'Proxwright always verifies the certificate. Set `fingerprint` or `ca`; the error for a refused certificate has the line to paste.';
const ENVIRONMENT = 'Set it in the environment: PROXMOX_VE_USERNAME and PROXMOX_VE_PASSWORD. A token is safer.';

export const BPG_PROVIDER: readonly Row[] = [
  { from: 'endpoint', to: 'endpoint' },
  { from: 'api_token', to: 'token' },
  { from: 'username', cannot: ENVIRONMENT },
  { from: 'password', cannot: ENVIRONMENT },
  { from: 'insecure', drop: VERIFIED },
  { from: 'min_tls', drop: 'Proxwright uses TLS 1.2 or newer.' },
  { from: 'tmp_dir', drop: 'Proxwright does not need it.' },
  { from: 'otp', cannot: 'Use an API token.' },
  { from: 'auth_ticket', cannot: 'Use an API token.' },
  { from: 'csrf_prevention_token', cannot: 'Use an API token.' },
  { from: 'random_vm_ids', drop: 'Proxwright reserves a free id before it creates a VM.' },
  { from: 'random_vm_id_start', drop: 'Proxwright reserves a free id before it creates a VM.' },
  { from: 'random_vm_id_end', drop: 'Proxwright reserves a free id before it creates a VM.' },
  { block: 'ssh', drop: NO_SSH, rows: [] },
];

export const TELMATE_PROVIDER: readonly Row[] = [
  { from: 'pm_api_url', to: 'endpoint', as: 'api-url' },
  { from: 'pm_api_token_id', to: 'token', as: 'token-id' },
  { from: 'pm_api_token_secret', as: 'same', doc: '`token`, together with the id' },
  { from: 'pm_user', cannot: ENVIRONMENT },
  { from: 'pm_password', cannot: ENVIRONMENT },
  { from: 'pm_otp', cannot: 'Use an API token.' },
  { from: 'pm_tls_insecure', drop: VERIFIED },
  { from: 'pm_parallel', drop: 'Concurrency has limits by node and storage: `rollout.limits`.' },
  { from: 'pm_timeout', drop: 'Each kind of wait has a limit: `rollout.timeouts`.' },
  { from: 'pm_minimum_permission_check', drop: 'A plan names the privileges that are missing.' },
  { from: 'pm_minimum_permission_list', drop: 'A plan names the privileges that are missing.' },
  { from: 'pm_log_enable', drop: 'Use TF_LOG.' },
  { from: 'pm_log_levels', drop: 'Use TF_LOG.' },
  { from: 'pm_log_file', drop: 'Use TF_LOG_PATH.' },
  { from: 'pm_debug', drop: 'Use TF_LOG.' },
  { from: 'pm_proxy_server', cannot: 'Proxwright connects to the server directly.' },
  { from: 'pm_http_headers', cannot: 'Proxwright sends no other headers.' },
];
