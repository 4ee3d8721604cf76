/** PASS, FAIL and SKIP lines, as they happen, and their sum. */
export class Report {
  passed = 0;
  failed = 0;
  skipped = 0;
  #subject = '';

  begin(subject: string): void {
    this.#subject = subject;
  }

  check(title: string, ok: boolean, detail = ''): void {
    if (ok) this.passed++;
    else this.failed++;
    console.log(`${ok ? 'PASS' : 'FAIL'} ${this.#subject}: ${title}${detail === '' ? '' : ` (${detail})`}`);
  }

  skip(reason: string): void {
    this.skipped++;
    console.log(`SKIP ${this.#subject}: ${reason}`);
  }

  summary(): string {
    return `${this.passed} passed, ${this.failed} failed, ${this.skipped} skipped`;
  }
}
