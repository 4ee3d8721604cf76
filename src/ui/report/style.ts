/** The style sheet of a report: quiet, in light and dark, on paper as well. */
export const REPORT_STYLE = `
:root{color-scheme:light dark;--paper:#fff;--ink:#1b2430;--muted:#586374;--line:#e4e8ee;--soft:#f6f7f9;--accent:#1d5a99;--bad:#b42318}
@media (prefers-color-scheme:dark){:root{--paper:#12161c;--ink:#e6eaf0;--muted:#9aa6b6;--line:#262d37;--soft:#181d25;--accent:#7fb0e8;--bad:#ff8a7e}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1180px;padding:2rem 1.5rem 4rem;background:var(--paper);color:var(--ink);font:15px/1.5 ui-sans-serif,system-ui,"Segoe UI","Helvetica Neue",Arial,sans-serif}
h1{font-size:1.5rem;margin:0 0 .25rem;letter-spacing:-.01em}
h2{font-size:1.05rem;margin:2.5rem 0 .75rem}
h3{font-size:1rem;margin:0}
h3 small{font-weight:400;color:var(--muted)}
header p{color:var(--muted);margin:.25rem 0 1rem;max-width:75ch}
dl{display:flex;flex-wrap:wrap;gap:.5rem 2rem;margin:0}
dt{font-size:.78rem;color:var(--muted)}
dd{margin:0;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.scroll{overflow-x:auto;border:1px solid var(--line);border-radius:8px}
.scroll svg{display:block;max-width:100%;height:auto;min-width:860px}
.long{max-height:34rem;overflow:auto}
.long thead th{position:sticky;top:0}
nav{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin-top:1.25rem;font-size:.9rem}
table{border-collapse:collapse;width:100%;font-size:.87rem}
th,td{text-align:left;padding:.35rem .8rem;border-bottom:1px solid var(--line);vertical-align:top;font-weight:400;font-variant-numeric:tabular-nums}
td:last-child{white-space:pre-wrap;overflow-wrap:anywhere}
thead th{color:var(--muted);font-size:.78rem;background:var(--soft)}
tbody tr:last-child>*{border-bottom:0}
.failures{list-style:none;margin:0;padding:0}
.failures li{border-left:3px solid var(--bad);padding:.25rem 0 .25rem 1rem;margin-bottom:1.25rem}
.failures p{margin:.25rem 0}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--soft);padding:.75rem;border-radius:6px;margin:.5rem 0;font-size:.85rem}
code{font-size:.85em;color:var(--muted)}
.hint{color:var(--muted)}
a{color:var(--accent)}
.skip{position:absolute;left:-999px}
.skip:focus{position:static}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
@media print{body{max-width:none;padding:0}.scroll{overflow:visible;border:0;max-height:none}nav,.skip{display:none}}
`;
