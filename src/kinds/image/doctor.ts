/** Images to download: whether the node reaches them, and whether there is room for them. */
import type { Address } from '../../base/address.ts';
import { isFamily } from '../../base/errors.ts';
import { readIfAllowed } from '../cluster.ts';
import type { ExamineContext, Examined } from '../doctor/examined.ts';
import { type Finding, findingsOf, roughSize } from '../doctor/finding.ts';
import { imageCompression } from './file.ts';
import type { DownloadAnswer, ImageSite } from './observed.ts';
import { siteAddress } from './plan.ts';

/** Asks the node, because the node downloads the image. */
export async function readDownloads({
  pve,
  signal,
  observed: { images },
}: ExamineContext): Promise<Map<Address, DownloadAnswer>> {
  const toCome = images.filter(({ image: { fields }, file }) => {
    return file.ok && !file.value && fields.url !== undefined && fields.via !== 'upload';
  });
  const answers = toCome.map(async (site): Promise<[Address, DownloadAnswer]> => {
    const url = site.image.fields.url ?? '';
    const needs = `Sys.AccessNetwork on /nodes/${site.node}`;
    try {
      const asked = await readIfAllowed(() => pve.node(site.node).queryUrlMetadata({ url }, { signal }), needs);
      const answer: DownloadAnswer = asked.ok
        ? { kind: 'there', sizeBytes: asked.value.size }
        : { kind: 'hidden', needs: asked.needs };
      return [siteAddress(site), answer];
    } catch (error) {
      if (!isFamily(error, 'api')) throw error;
      return [siteAddress(site), { kind: 'failed', words: error.diagnostic.detail }];
    }
  });
  return new Map(await Promise.all(answers));
}

const say = findingsOf('images');

export function checkImages({
  observed,
  downloads,
  result,
}: Pick<Examined, 'observed' | 'downloads' | 'result'>): Finding[] {
  // The plan already reports problems with these images.
  const refused = new Set(result.ok ? [] : result.problems.map(({ where }) => where?.address));
  return observed.images.flatMap((site): Finding[] => {
    if (refused.has(site.image.address) || !site.file.ok) return [];
    const address = siteAddress(site);
    const where = { ...(site.image.positions.url ?? site.image.positions['']), address };
    const found = site.file.value
      ? [say.good(`${address} is on ${site.image.fields.storage}.`)]
      : judgeImage(site, address, downloads);
    return [...found, ...unproven(site, address)].map((finding) => ({ ...finding, where }));
  });
}

function judgeImage(site: ImageSite, address: Address, downloads: Examined['downloads']): Finding[] {
  const { url, path, via, storage } = site.image.fields;
  if (path !== undefined)
    return [say.good(`${address} is uploaded from this machine: ${path}. The plan checks whether the file exists.`)];
  if (via === 'upload') return [say.good(`${address} is downloaded to this machine and uploaded: ${url}`)];
  const answer = downloads.get(address);
  if (!answer) return [];
  if (answer.kind === 'hidden') return [say.unread(`Whether ${site.node} reaches ${url}`, answer.needs)];
  if (answer.kind === 'failed') {
    return [
      say.bad(`${site.node} cannot download ${url}: ${answer.words}`, {
        remedy: `Correct the url, or download it on this machine: via: upload. To find the cause, on ${site.node}: curl -fIL '${url}'`,
      }),
    ];
  }
  const room = site.row?.availableBytes;
  const { sizeBytes } = answer;
  if (sizeBytes !== undefined && room !== undefined && sizeBytes > room) {
    return [
      say.bad(`${address} is ${roughSize(sizeBytes)}; ${storage} on ${site.node} has ${roughSize(room)} free.`, {
        remedy: `Free some space on ${storage}, or choose another storage.`,
      }),
    ];
  }
  const size = sizeBytes === undefined ? '' : `, ${roughSize(sizeBytes)}`;
  return [say.good(`${site.node} reaches ${url}${size}.`)];
}

/** Without a checksum a wrong or changed file goes unnoticed. */
function unproven({ image }: ImageSite, address: Address): Finding[] {
  const { sha256, sha512, url = '', path } = image.fields;
  if ((sha256 ?? sha512) !== undefined || path !== undefined) return [];
  const compressed = imageCompression(image.fields) === undefined ? '' : ' (of the compressed file)';
  return [
    say.warning(`${address} has no checksum, so the downloaded file is not verified.`, {
      remedy: `Set sha256: …${compressed}. The publisher usually lists it at ${url.replace(/[^/]*$/, '')}`,
    }),
  ];
}
