import { startRedis, type RedisServer } from '../../test/support/redisServer.js';
import type { RowpostProcess } from '../../test/support/rowpostProcess.js';
import { createInstallation, type BenchInstallation } from '../support/installation.js';
import { EMAIL_SHOP_TABLES, setUpEmailShop, type EmailShop } from './emailShop.js';
import type { Backend } from './options.js';
import { startCarrier, type Carrier } from './carrier.js';

/** A durable PostgreSQL with a shop, a Redis and a carrier of its own, on which the shipped processes run. */
export interface Site {
  readonly installation: BenchInstallation;
  readonly shop: EmailShop;
  readonly redis: RedisServer;
  readonly carrier: Carrier;
  /** One more tenant with the same shop, and a template of its own if one is given. */
  addShop(template?: string): Promise<EmailShop>;
  /** Starts a web, a relay and a worker. @param env further settings of relay and worker */
  startAll(backend: Backend, env?: Readonly<Record<string, string>>): Promise<Running>;
  /** Starts a worker, then a relay. */
  startDelivery(backend: Backend, env?: Readonly<Record<string, string>>): Promise<Delivering>;
  startRelay(backend: Backend, env?: Readonly<Record<string, string>>): Promise<RowpostProcess>;
}

export interface Delivering {
  readonly relay: RowpostProcess;
  readonly worker: RowpostProcess;
}

export interface Running extends Delivering {
  readonly web: RowpostProcess;
  readonly baseUrl: string;
}

/** Makes a site, runs `work` on it and takes it down, however the work ends. @param options as of `createInstallation` */
export async function withSite(
  work: (site: Site) => Promise<void>,
  options: Parameters<typeof createInstallation>[1] = {},
): Promise<void> {
  const installation = await createInstallation(EMAIL_SHOP_TABLES, options);
  const redis = await startRedis();
  const carrier = await startCarrier();
  const email = { MAIL_TRANSPORT: 'sendgrid', SENDGRID_BASE_URL: carrier.url };
  const settings = (backend: Backend, env: Readonly<Record<string, string>>) => ({
    ...email,
    ...(backend === 'redis' ? { REDIS_URL: redis.url } : {}),
    ...env,
  });
  try {
    const setUp = await installation.startWeb(email);
    const shop = await setUpEmailShop(setUp.baseUrl, installation);
    await setUp.process.kill('SIGTERM');
    const startRelay: Site['startRelay'] = (backend, env = {}) =>
      installation.startPart('relay', settings(backend, env));
    const startDelivery: Site['startDelivery'] = async (backend, env = {}) => ({
      worker: await installation.startPart('worker', settings(backend, env)),
      relay: await startRelay(backend, env),
    });
    await work({
      installation,
      shop,
      redis,
      carrier,
      async addShop(template) {
        const tenant = await installation.addTenant(EMAIL_SHOP_TABLES);
        const web = await installation.startWeb(email);
        const added = await setUpEmailShop(web.baseUrl, tenant, template);
        await web.process.kill('SIGTERM');
        return added;
      },
      startDelivery,
      startRelay,
      async startAll(backend, env = {}) {
        const web = await installation.startWeb(settings(backend, {}));
        const delivering = await startDelivery(backend, env);
        return { ...delivering, web: web.process, baseUrl: web.baseUrl };
      },
    });
  } finally {
    await installation.stop();
    await redis.stop();
    await carrier.stop();
  }
}
