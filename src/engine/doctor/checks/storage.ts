/** State of the storages that the stack uses, space for everything the plan creates, and images to download. */

import type { Address } from '../../../base/address.ts';
import { nodeCommand } from '../../../base/text/node-command.ts';
import { imageCompression } from '../../../kinds/image/file.ts';
import { siteAddress } from '../../../kinds/image/plan.ts';
import type { ImageSite, StorageRow } from '../../../kinds/observed.ts';
import { machinesOf } from '../../../kinds/stack.ts';
import { drivesOf } from '../../../kinds/vm/config/disks.ts';
import { countNeeds, type Findings, isThin } from '../../../kinds/vm/plan/checks/checks.ts';
import { storageOfVolume } from '../../../pve/wire/index.ts';
import { baseOf, type Examination, isThere, storagesOf } from '../examination.ts';
import { type Finding, findingsOf, roughSize } from '../finding.ts';

type Seen = Pick<Examination, 'stack' | 'foreseen'>;

export function checkStorages(examination: Seen): Finding[] {
  const { stack, foreseen: observed } = examination;
  const say = findingsOf('storage');
  const needed = neededBytes(examination);
  const used = new Map<string, Set<string>>();
  for (const vm of machinesOf(stack)) {
    const { node } = vm.fields;
    used.set(node, new Set([...(used.get(node) ?? []), ...storagesOf(vm, observed)]));
  }
  return [...used].flatMap(([node, names]) => {
    const rows = observed.storages.get(node);
    if (!rows) return [];
    if (!rows.ok) return [say.unread(`Storages of ${node}`, rows.needs)];
    return [...names].map((name): Finding => {
      const row = rows.value.find(({ storage }) => storage === name);
      if (!row) return say.unread(`Storage ${name} of ${node}`, `Datastore.AllocateSpace on /storage/${name}`);
      return judge(row, node, needed.get(`${node}/${name}`) ?? 0);
    });
  });
}

function judge(row: StorageRow, node: string, bytes: number): Finding {
  const say = findingsOf('storage');
  const { storage, availableBytes, active, enabled } = row;
  if (!enabled || !active) {
    return say.bad(`${storage} is ${enabled ? 'not active' : 'disabled'} on ${node}.`, {
      remedy: enabled
        ? `On ${node}: ${nodeCommand('pvesm status', [], { storage })}`
        : nodeCommand('pvesm set', [storage], { disable: 0 }),
    });
  }
  if (availableBytes === undefined) {
    return say.warning(`${storage} does not report its free space.`, {
      remedy: `On ${node}: ${nodeCommand('pvesm status', [])}`,
    });
  }
  const space = `${storage} has ${roughSize(availableBytes)} free`;
  if (bytes === 0) return say.good(`${space}; the plan creates no disks there.`);
  const words = `${space}; the plan needs ${roughSize(bytes)}`;
  if (bytes <= availableBytes) return say.good(`${words}.`);
  const remedy =
    'Free some space, use fewer or smaller disks, or put them on other storages: clone.storage, disks.….storage';
  // A thin pool can be overcommitted; it fills only as guests write.
  if (isThin(row))
    return say.warning(`${words} if all disks fill up; ${row.type} is thin-provisioned, so less may be enough.`, {
      remedy,
    });
  return say.bad(`${words}.`, { remedy });
}

/** By `node/storage`: new disks, copies of template disks, and growth of existing disks. */
function neededBytes({ stack, foreseen: observed }: Seen): ReadonlyMap<string, number> {
  const counted: Pick<Findings, 'neededBytes'> = { neededBytes: new Map() };
  const sums = new Map<string, number>();
  for (const vm of machinesOf(stack)) {
    const base = baseOf(vm, observed);
    if (!isThere(vm, observed)) {
      countNeeds({ vm, creating: true }, base, counted);
      continue;
    }
    for (const { key, volume, sizeBytes = 0 } of drivesOf(base)) {
      const storage = volume && storageOfVolume(volume);
      const growth = (vm.fields.disks?.[key]?.size ?? 0) - sizeBytes;
      const place = `${vm.fields.node}/${storage}`;
      if (storage !== undefined && growth > 0) sums.set(place, (sums.get(place) ?? 0) + growth);
    }
  }
  for (const [place, { bytes }] of counted.neededBytes) sums.set(place, (sums.get(place) ?? 0) + bytes);
  return sums;
}

const sayImage = findingsOf('images');

export function checkImages({
  observed,
  downloads,
  result,
}: Pick<Examination, 'observed' | 'downloads' | 'result'>): Finding[] {
  // The plan already reports problems with these images.
  const refused = new Set(result.ok ? [] : result.problems.map(({ where }) => where?.address));
  return observed.images.flatMap((site): Finding[] => {
    if (refused.has(site.image.address) || !site.file.ok) return [];
    const address = siteAddress(site);
    const where = { ...(site.image.positions.url ?? site.image.positions['']), address };
    const found = site.file.value
      ? [sayImage.good(`${address} is on ${site.image.fields.storage}.`)]
      : judgeImage(site, address, downloads);
    return [...found, ...unproven(site, address)].map((finding) => ({ ...finding, where }));
  });
}

function judgeImage(site: ImageSite, address: Address, downloads: Examination['downloads']): Finding[] {
  const { url, path, via, storage } = site.image.fields;
  if (path !== undefined)
    return [
      sayImage.good(`${address} is uploaded from this machine: ${path}. The plan checks whether the file exists.`),
    ];
  if (via === 'upload') return [sayImage.good(`${address} is downloaded to this machine and uploaded: ${url}`)];
  const answer = downloads.get(address);
  if (!answer) return [];
  if (answer.kind === 'hidden') return [sayImage.unread(`Whether ${site.node} reaches ${url}`, answer.needs)];
  if (answer.kind === 'failed') {
    return [
      sayImage.bad(`${site.node} cannot download ${url}: ${answer.words}`, {
        remedy: `Correct the url, or download it on this machine: via: upload. To find the cause, on ${site.node}: curl -fIL '${url}'`,
      }),
    ];
  }
  const room = site.row?.availableBytes;
  const { sizeBytes } = answer;
  if (sizeBytes !== undefined && room !== undefined && sizeBytes > room) {
    return [
      sayImage.bad(`${address} is ${roughSize(sizeBytes)}; ${storage} on ${site.node} has ${roughSize(room)} free.`, {
        remedy: `Free some space on ${storage}, or choose another storage.`,
      }),
    ];
  }
  const size = sizeBytes === undefined ? '' : `, ${roughSize(sizeBytes)}`;
  return [sayImage.good(`${site.node} reaches ${url}${size}.`)];
}

/** Without a checksum a wrong or changed file goes unnoticed. */
function unproven({ image }: ImageSite, address: Address): Finding[] {
  const { sha256, sha512, url = '', path } = image.fields;
  if ((sha256 ?? sha512) !== undefined || path !== undefined) return [];
  const compressed = imageCompression(image.fields) === undefined ? '' : ' (of the compressed file)';
  return [
    sayImage.warning(`${address} has no checksum, so the downloaded file is not verified.`, {
      remedy: `Set sha256: …${compressed}. The publisher usually lists it at ${url.replace(/[^/]*$/, '')}`,
    }),
  ];
}
