/** `proxwright_image`: the calls of the host, each to its file. */
import type { ResourceType } from '../provider.ts';
import { resourceOf } from '../run/resource.ts';
import type { SurroundingsOf } from '../surroundings.ts';
import { ImageContext } from './context.ts';
import { createImage } from './create.ts';
import { destroyImage } from './destroy.ts';
import { importImageState } from './import.ts';
import { planImageChange } from './plan.ts';
import { readImageState } from './read.ts';
import { IMAGE, IMAGE_SCHEMA } from './schema.ts';
import { updateImage } from './update.ts';
import { wantedImage } from './wanted-image.ts';

export function imageResource(surroundingsOf: SurroundingsOf): ResourceType {
  const context = new ImageContext(surroundingsOf);
  return resourceOf({
    noun: IMAGE.noun,
    schema: IMAGE_SCHEMA,
    validate: (config) => wantedImage(config).problems,
    read: (request, call) => readImageState(context.during(call), request),
    plan: (request, call) => planImageChange(context.during(call), request),
    create: ({ planned, config }, call) => createImage(context.during(call), planned, config),
    update: (request, call) => updateImage(context.during(call), request),
    destroy: (request, call) => destroyImage(context.during(call), request.prior, request.private),
    import: (id, call) => importImageState(context.during(call), id),
  });
}
