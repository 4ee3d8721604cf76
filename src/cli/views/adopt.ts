/**
 * What `adopt` takes over and leaves alone, the file that it writes, and how its lines differ from the previous ones.
 */
import { shellWord } from '../../base/text/shell.ts';
import { counted } from '../../base/values/units.ts';
import type { Adoption } from '../../kinds/vm/adopt/adopt.ts';
import { remarksOn } from '../../kinds/vm/adopt/families.ts';
import type { Guest, LeftGuest, Survey } from '../../kinds/vm/adopt/survey.ts';
import { lineDiff } from './text/line-diff.ts';
import { renderTable } from './text/table.ts';
import { chooseView, type HumanScreen, type ViewDeps } from './view.ts';

export interface AdoptedFile {
  readonly file: string;
  readonly before: string;
  readonly after: string;
  readonly isNew: boolean;
}

export interface Adopted {
  readonly file: string;
  readonly stack: string;
  readonly isNew: boolean;
  readonly isChanged: boolean;
  readonly claims: boolean;
  readonly remarks: readonly string[];
}

export interface AdoptView {
  /** To choose from. */
  guests(guests: readonly Guest[]): void;
  nothing(survey: Survey): void;
  chosen(adoption: Adoption): void;
  text(file: AdoptedFile): void;
  adopted(result: Adopted): void;
  terraform(survey: Survey, text: string): void;
}

export function adoptView(deps: ViewDeps): AdoptView {
  return chooseView<AdoptView>(deps, {
    human: humanView,
    json: ({ terminal, print }) => {
      let taken: readonly object[] = [];
      let left: readonly LeftGuest[] = [];
      return {
        guests: () => {},
        nothing: (survey) => print({ taken: [], left: survey.left, known: survey.known }),
        chosen: ({ survey, places, unfit }) => {
          left = survey.left;
          taken = places.map(({ vm, address }) => ({
            vmid: vm.vmid,
            name: vm.name,
            node: vm.node,
            address,
            leftOut: vm.leftOut,
            differences: unfit.get(address) ?? [],
          }));
        },
        text: ({ file, after }) => print({ file, taken, left, text: after }),
        adopted: ({ remarks, ...result }) => {
          for (const remark of remarks) terminal.log('warn', remark);
          print({ ...result, taken, left, remarks });
        },
        terraform: (survey, text) => print({ taken: survey.taken.map(({ vmid }) => vmid), left: survey.left, text }),
      };
    },
  });
}

function humanView({ terminal, print, paint }: HumanScreen): AdoptView {
  let count = 0;
  const showLeft = (left: readonly LeftGuest[]) => {
    if (left.length === 0) return;
    print(['', paint('bold', `Left as they are: ${counted(left.length, 'guest')}`)]);
    print(
      renderTable(
        ['ID', 'NAME', 'NODE', 'WHY'],
        left.map(({ vmid, name, node, why }) => [String(vmid), name, node, why]),
        paint,
      ),
    );
  };
  return {
    guests: (guests) =>
      print(
        renderTable(
          ['ID', 'NAME', 'NODE', 'POOL', 'TAGS', ''],
          guests.map(({ vmid, name, node, pool = '', tags, type, isTemplate }) => [
            String(vmid),
            name,
            node,
            pool,
            tags.join(' '),
            isTemplate ? 'template' : type === 'qemu' ? '' : 'container',
          ]),
          paint,
        ),
      ),
    nothing: ({ left, known }) => {
      showLeft(left);
      terminal.success(
        known > 0 ? `Nothing to adopt: the state has ${counted(known, 'VM')} of these already.` : 'Nothing to adopt.',
      );
    },
    chosen: ({ survey: { left, known }, places, unfit }) => {
      count = places.length;
      print([paint('bold', `To be adopted: ${counted(places.length, 'VM')}`)]);
      print(
        renderTable(
          ['ID', 'NAME', 'NODE', 'ADDRESS'],
          places.map(({ vm, address }) => [String(vm.vmid), vm.name, vm.node, address]),
          paint,
        ),
      );
      showLeft(left);
      if (known > 0)
        print(['', `${counted(known, 'VM')} of these ${known === 1 ? 'is' : 'are'} in the state already.`]);
      for (const each of remarksOn(places.map(({ vm }) => vm))) terminal.log('warn', `Not in the file: ${each}`);
      for (const [address, paths] of unfit) {
        terminal.log(
          'warn',
          `${address}: the file cannot express ${paths.join(', ')} as it is; the next plan shows it.`,
        );
      }
    },
    text: ({ file, before, after, isNew }) => {
      if (isNew) print(after.trimEnd().split('\n'));
      else {
        print(['', paint('bold', file)]);
        print(
          lineDiff(before, after).map(({ kind, line }) =>
            kind === 'added'
              ? paint('green', `+ ${line}`)
              : kind === 'removed'
                ? paint('red', `- ${line}`)
                : `  ${line}`,
          ),
        );
      }
    },
    adopted: ({ file, isNew, isChanged, claims, remarks }) => {
      for (const remark of remarks) terminal.log('warn', remark);
      const [them, any] = count === 1 ? ['it', 'it'] : ['them', 'any of them'];
      const touched = claims ? `Only ownership lines were written to ${them}.` : `Nothing was written to ${any}.`;
      const written = isNew
        ? `wrote ${file}`
        : isChanged
          ? `changed ${file}`
          : `${file} describes ${count === 1 ? 'it' : 'them'} already`;
      terminal.success(
        `Adopted ${counted(count, 'VM')}: ${written}, and recorded ${count === 1 ? 'it' : 'them'}. ${touched}`,
      );
      terminal.log('info', `Check that nothing differs: proxwright plan --file ${shellWord(file)} --exit-code`);
    },
    terraform: ({ left }, text) => {
      for (const { vmid, name, why } of left) terminal.log('info', `Left as it is: ${vmid} ${name}: ${why}`);
      print(text.trimEnd().split('\n'));
    },
  };
}
