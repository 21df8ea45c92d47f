/** `npm run check [-- NAME…]`: all checks, or those named; exit code 1 when one does not hold. */
import { runChecks } from './run-checks.ts';

const { passed, failed } = await runChecks(process.argv.slice(2));
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
