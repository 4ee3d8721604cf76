/** Where the report of a run is, and its conclusion in one line. */
import { printDuration } from '../../../base/values/units.ts';
import type { RunRecord } from '../../../engine/record/run-record.ts';
import type { Chart } from '../../../ui/picture/chart.ts';
import { describeChart } from '../../../ui/picture/timeline.ts';
import { chooseView, type ViewDeps } from '../view.ts';

export interface Written {
  readonly run: RunRecord;
  readonly chart: Chart;
  readonly files: { readonly html: string; readonly svg: string };
}

export interface ReportView {
  written(report: Written): void;
}

export function reportView(deps: ViewDeps): ReportView {
  return chooseView<ReportView>(deps, {
    human: ({ print, terminal }) => ({
      written: ({ chart, files }) => {
        print([files.html, files.svg]);
        terminal.log('info', describeChart(chart));
        const slowest = chart.path.toSorted((a, b) => b.toMs - b.fromMs - (a.toMs - a.fromMs))[0];
        if (slowest) {
          const took = printDuration(slowest.toMs - slowest.fromMs);
          terminal.log('info', `Longest on the critical path: ${slowest.address}, ${slowest.name}, ${took}.`);
        }
      },
    }),
    json: ({ print }) => ({
      written: ({ run, chart, files }) =>
        print({
          runId: run.runId,
          outcome: run.outcome,
          durationMs: run.durationMs ?? null,
          files,
          criticalPath: chart.path.map(({ address, name, fromMs, toMs, follows }) => ({
            address,
            step: name,
            fromMs,
            toMs,
            follows,
          })),
        }),
    }),
  });
}
