/** Tags in the style of the datacenter. */
import { parseTags } from '../../../pve/wire/index.ts';
import type { World } from '../../world/world.ts';

/** Rule [recorded tags-datacenter-style]: folded and sorted, unless `tag-style` says case-sensitive or ordering=config. */
export function uniqueTags(world: World, text: string): string[] {
  const style = world.datacenter.get('tag-style') ?? '';
  return parseTags(text, {
    caseSensitive: /(?:^|,)case-sensitive=(?:1|on|yes|true)/i.test(style),
    keepOrder: /(?:^|,)ordering=config/.test(style),
  });
}
