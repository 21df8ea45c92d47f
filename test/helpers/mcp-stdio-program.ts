/** The test server over stdio: `node test/helpers/mcp-stdio-program.ts`, with the file of its effects in `EFFECTS`. */
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createToolServer } from './mcp-tool-server.ts';

serveStdio(() => createToolServer({ effects: process.env['EFFECTS'] }));
