import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startGateway } from '../../app/start-gateway.ts';
import { connectGateway } from '../../client/gateway-client.ts';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { CLIENT_CAPS } from '../../protocol/frames.ts';
import { silentLogger } from '../../util/logger.ts';
import { EventLog } from './event-log.ts';

/** A gateway of the tour, seen by a person at its webchat. */
export interface TourGateway {
  url: string;
  client: GatewayClient;
  events: EventLog;
  stop(): Promise<void>;
}

/** Starts a gateway with this configuration on the tour's own state and a free port, and joins it. */
export async function startTourGateway(stateDir: string, config: object): Promise<TourGateway> {
  const configPath = join(stateDir, 'trunkline.json');
  writeFileSync(configPath, JSON.stringify(config, null, 2));
  const gateway = await startGateway({
    stateDir,
    configPath,
    port: 0,
    // Nothing of the person's environment: no keys, no other database, no other token.
    env: {},
    logger: silentLogger,
  });
  try {
    const { url, token } = gateway;
    const caps = [CLIENT_CAPS.toolEvents];
    const client = await connectGateway({ url, token, clientName: 'tour', mode: 'webchat', caps });
    const events = new EventLog();
    client.on((frame) => events.add(frame));
    const stop = async (): Promise<void> => {
      await client.close();
      await gateway.stop();
    };
    return { url, client, events, stop };
  } catch (error) {
    await gateway.stop();
    throw error;
  }
}
