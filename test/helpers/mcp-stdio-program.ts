/**
 * The test server over stdio: `node test/helpers/mcp-stdio-program.ts [--newest]`, with the file of its effects in
 * `EFFECTS`; with `--newest` it refuses every revision but the newest.
 */
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createToolServer } from './mcp-tool-server.ts';

const legacy = process.argv.includes('--newest') ? 'reject' : 'serve';
serveStdio(() => createToolServer({ effects: process.env['EFFECTS'] }), { legacy });
