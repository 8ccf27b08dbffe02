// Drives OpenAI's JavaScript library against Sluice for images. Each line on standard output names a topic that passed.
const assert = require('node:assert/strict');
const fs = require('node:fs');
const OpenAI = require('openai').default;

const client = new OpenAI(); // OPENAI_BASE_URL and OPENAI_API_KEY
const wish = { model: 'gen2.5-t2i', prompt: 'A mill by a river', n: 1 };

// A way to Sluice on which the answer to each first attempt is lost.
const flaky = (way) => client.withOptions({ baseURL: `${process.env.FLAKY}/${way}/v1` });

const edit = (by, image) => by.images.edit({ model: 'gen2.6-image', image, prompt: 'The same mill in winter', n: 1 });

async function images() {
  const { data: made, response } = await client.images.generate({ ...wish, n: 2, size: '1024x1024' }).withResponse();
  assert(made.data.length === 2 && made.data[0].url.startsWith('http') && made.created);
  const task = await client.get(`/images/tasks/${response.headers.get('sluice-task')}`);
  assert(task.status === 'completed' && task.data.length === 2);
  const atOnce = await client.images.generate({ model: 'llm-image-2.0', prompt: 'A mill by a river', n: 1 });
  assert(atOnce.data[0].url);
}

async function encoded() {
  const made = await client.images.generate({ ...wish, response_format: 'b64_json' });
  assert.equal(Buffer.from(made.data[0].b64_json, 'base64').subarray(1, 4).toString(), 'PNG');
}

async function edits() {
  assert((await edit(client, fs.createReadStream('mill.png'))).data[0].url);
}

async function errors() {
  for (const [param, change] of Object.entries({ style: { style: 'natural' }, quality: { quality: 'hd' }, prompt: { prompt: '' } })) {
    await assert.rejects(client.images.generate({ ...wish, ...change }), (e) => e instanceof OpenAI.BadRequestError && e.param === param);
  }
}

async function paidOnce() {
  for (const way of ['lost', 'after-408', 'after-409', 'after-429', 'after-500', 'after-502', 'after-503']) {
    assert((await flaky(way).images.generate(wish)).data[0].url, way);
  }
  const file = await OpenAI.toFile(fs.readFileSync('mill.png'), 'mill.png', { type: 'image/png' }); // the library repeats no stream
  assert((await edit(flaky('lost'), file)).data[0].url);
  const hasty = client.withOptions({ timeout: 700, maxRetries: 8 });
  assert((await hasty.images.generate(wish)).data[0].url);
}

(async () => {
  for (const [topic, check] of Object.entries({ images, encoded, edits, errors, 'paid once': paidOnce })) {
    await check();
    console.log(topic);
  }
})();
