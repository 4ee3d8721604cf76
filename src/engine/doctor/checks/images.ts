/** Images that are to come: whether their web server answers the node that fetches them, and whether there is room. */
import { type Address, kindOf } from '../../../base/address.ts';
import { imageCompression } from '../../../kinds/image/file.ts';
import { siteAddress } from '../../../kinds/image/plan.ts';
import type { ImageSite } from '../../../kinds/observed.ts';
import type { Examination } from '../examination.ts';
import { type Finding, findingsOf } from '../finding.ts';
import { roughSize } from '../rough-size.ts';

const say = findingsOf('images');

export function checkImages({
  observed,
  downloads,
  result,
}: Pick<Examination, 'observed' | 'downloads' | 'result'>): Finding[] {
  // What a plan has said of an image is not said again.
  const refused = new Set<string | undefined>(
    result.ok
      ? []
      : result.problems.map(({ where }) => where?.address).filter((each) => each && kindOf(each) === 'image'),
  );
  return observed.images.flatMap((site): Finding[] => {
    if (refused.has(site.image.address) || !site.found.ok) return [];
    const address = siteAddress(site);
    const where = { ...(site.image.positions.url ?? site.image.positions['']), address };
    const found = site.found.value
      ? [say.good(`${address} is in ${site.image.fields.storage}.`)]
      : judge(site, address, downloads);
    return [...found, ...unproven(site, address)].map((finding) => ({ ...finding, where }));
  });
}

function judge(site: ImageSite, address: Address, downloads: Examination['downloads']): Finding[] {
  const { url, path, via, storage } = site.image.fields;
  if (path !== undefined) return [say.good(`${address} is sent from here: ${path}. Whether it is there, plan tells.`)];
  if (via === 'upload') return [say.good(`${address} is fetched here and sent: ${url}`)];
  const answer = downloads.get(address);
  if (!answer) return [];
  if (answer.kind === 'hidden') return [say.unread(`Whether ${site.node} reaches ${url}`, answer.needs)];
  if (answer.kind === 'failed') {
    return [
      say.bad(`${site.node} does not get ${url}: ${answer.words}`, {
        remedy: `Correct the url, or let this machine fetch it: via: upload. To see why, on ${site.node}: curl -fIL '${url}'`,
      }),
    ];
  }
  const room = site.row?.availableBytes;
  const { sizeBytes } = answer;
  if (sizeBytes !== undefined && room !== undefined && sizeBytes > room) {
    return [
      say.bad(`${address} has ${roughSize(sizeBytes)}; ${storage} on ${site.node} has ${roughSize(room)} free.`, {
        remedy: `Free some room on ${storage}, or choose another storage.`,
      }),
    ];
  }
  const size = sizeBytes === undefined ? '' : `, ${roughSize(sizeBytes)}`;
  return [say.good(`${site.node} reaches ${url}${size}.`)];
}

/** What arrives without a checksum is believed. */
function unproven({ image }: ImageSite, address: Address): Finding[] {
  const { sha256, sha512, url = '', path } = image.fields;
  if ((sha256 ?? sha512) !== undefined || path !== undefined) return [];
  const packed = imageCompression(image.fields) === undefined ? '' : ' (of the packed file)';
  return [
    say.warning(`${address} has no checksum, so whatever arrives is taken for it.`, {
      remedy: `Write sha256: …${packed}. Its publisher lists it beside ${url.replace(/[^/]*$/, '')}`,
    }),
  ];
}
