import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CliIo } from '../cli-io.ts';
import { DEMO_CONFIG, SHIPPED_CONFIG } from './demo-config.ts';
import { playStep, waitForAnnounce } from './play-step.ts';
import { startTourGateway } from './tour-gateway.ts';
import { REFUSED_STEP, TOUR_STEPS } from './tour-steps.ts';
import { createTourPrinter } from './tour-printer.ts';
import type { TourPrinter } from './tour-printer.ts';

/** Plays the tour on a state of its own, and returns whether every step happened. */
export async function playTour(io: CliIo): Promise<boolean> {
  const print = createTourPrinter(io);
  // A fresh folder: it works on any state, also twice at once, and leaves nothing behind.
  const stateDir = mkdtempSync(join(tmpdir(), 'trunkline-tour-'));
  const leave = (): void => rmSync(stateDir, { recursive: true, force: true });
  const quit = (): void => {
    leave();
    process.exit(130);
  };
  process.once('SIGINT', quit).once('SIGTERM', quit);
  try {
    print.introduction();
    const done = (await playRefusal(stateDir, print)) && (await playDemo(stateDir, print));
    print.conclusion(done);
    return done;
  } finally {
    process.off('SIGINT', quit).off('SIGTERM', quit);
    leave();
  }
}

async function playRefusal(stateDir: string, print: TourPrinter): Promise<boolean> {
  print.configuration('Two agents, everything else as shipped:', SHIPPED_CONFIG);
  const gateway = await startTourGateway(stateDir, SHIPPED_CONFIG);
  try {
    print.running(gateway.url);
    return await playStep(gateway, { step: REFUSED_STEP, number: 1, print });
  } finally {
    await gateway.stop();
  }
}

async function playDemo(stateDir: string, print: TourPrinter): Promise<boolean> {
  print.configuration('The same state, now with main and scout allowed to talk:', DEMO_CONFIG);
  const gateway = await startTourGateway(stateDir, DEMO_CONFIG);
  try {
    print.running(gateway.url);
    let number = 1;
    for (const step of TOUR_STEPS) {
      number += 1;
      if (!(await playStep(gateway, { step, number, print }))) return false;
    }
    return await waitForAnnounce(gateway, { number: number + 1, print });
  } finally {
    await gateway.stop();
  }
}
