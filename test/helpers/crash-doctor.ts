/**
 * `trunkline doctor --fix` as a process of its own, killed at its first commit:
 * `node test/helpers/crash-doctor.ts --state-dir DIR --when before|after`.
 */
import { parseArgs } from 'node:util';
import { examineState } from '../../src/app/examine-state.ts';
import { SqliteConnection } from '../../src/store/sqlite/sqlite-connection.ts';

const { values } = parseArgs({
  options: { 'state-dir': { type: 'string' }, when: { type: 'string' } },
});

class DyingConnection extends SqliteConnection {
  override async query(...[sql, params]: Parameters<SqliteConnection['query']>) {
    if (sql === 'commit' && values.when === 'before') process.kill(process.pid, 'SIGKILL');
    const result = this.run(sql, params);
    if (sql === 'commit') process.kill(process.pid, 'SIGKILL');
    return result;
  }
}
SqliteConnection.prototype.query = DyingConnection.prototype.query;
await examineState({ fix: true, stateDir: values['state-dir'], env: {} });
