// Drives OpenAI's JavaScript library against Sluice. Each line on standard output names a topic that passed.
const assert = require('node:assert/strict');
const OpenAI = require('openai').default;

const client = new OpenAI(); // OPENAI_BASE_URL and OPENAI_API_KEY
const question = [{ role: 'user', content: 'What is a sluice?' }];
const parameters = { type: 'object', properties: { river: { type: 'string' } }, required: ['river'] };
const tools = [{ type: 'function', function: { name: 'water_level', description: 'The level of a river', parameters } }];

async function models() {
  const names = [];
  for await (const model of client.models.list()) names.push(model.id);
  assert(names.includes('llm-plus') && names.includes('gpt-4o'), String(names));
  assert.equal((await client.models.retrieve('llm-plus')).owned_by, 'service');
  await assert.rejects(client.models.retrieve('gone'), (e) => e instanceof OpenAI.NotFoundError && e.code === 'model_not_found');
}

let whole;
async function chat() {
  const { data, request_id, response } = await client.chat.completions.create({ model: 'llm-plus', messages: question }).withResponse();
  whole = data.choices[0].message.content;
  assert(whole && data.choices[0].finish_reason === 'stop' && data.model === 'llm-plus');
  assert.equal(request_id, response.headers.get('sluice-request-id'));
}

async function usage() {
  const { usage, choices } = await client.chat.completions.create({ model: 'llm-plus', messages: question, max_tokens: 5 });
  assert.equal(usage.completion_tokens, 5);
  assert.equal(usage.total_tokens, usage.prompt_tokens + 5);
  assert.equal(choices[0].finish_reason, 'length');
}

async function stream() {
  let text = '';
  let last;
  const chunks = await client.chat.completions.create({ model: 'llm-plus', messages: question, stream: true, stream_options: { include_usage: true } });
  for await (const chunk of chunks) {
    last = chunk;
    text += chunk.choices[0]?.delta.content ?? '';
  }
  assert.equal(text, whole);
  assert(last.choices.length === 0 && last.usage.total_tokens > 0);
  const runner = client.chat.completions.stream({ model: 'llm-plus', messages: question });
  assert.equal(await runner.finalContent(), whole);
}

async function callTools() {
  const ask = [{ role: 'user', content: 'Which water_level has the Elbe?' }];
  const { choices } = await client.chat.completions.create({ model: 'llm-plus', messages: ask, tools });
  const call = choices[0].message.tool_calls[0];
  assert(choices[0].finish_reason === 'tool_calls' && choices[0].message.content === null);
  assert(call.function.name === 'water_level' && 'river' in JSON.parse(call.function.arguments));
  const runner = client.chat.completions.stream({ model: 'llm-plus', messages: ask, tools });
  const streamed = (await runner.finalMessage()).tool_calls[0];
  assert.deepEqual(JSON.parse(streamed.function.arguments), JSON.parse(call.function.arguments));
  const back = [...ask, choices[0].message, { role: 'tool', tool_call_id: call.id, content: '2.1 m' }];
  const end = await client.chat.completions.create({ model: 'llm-plus', messages: back, tools });
  assert(end.choices[0].finish_reason === 'stop' && end.choices[0].message.content);
}

async function structured() {
  const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'], additionalProperties: false };
  const answer = await client.chat.completions.parse({
    model: 'llm-plus', messages: [{ role: 'user', content: 'A river as JSON' }],
    response_format: { type: 'json_schema', json_schema: { name: 'river', strict: true, schema } },
  });
  assert.equal(typeof JSON.parse(answer.choices[0].message.content).name, 'string');
}

async function picturesIn() {
  const content = [{ type: 'text', text: 'What is this?' }, { type: 'image_url', image_url: { url: 'https://pictures.example/mill.png' } }];
  const answer = await client.chat.completions.create({ model: 'llm-vl', messages: [{ role: 'user', content }] });
  assert(answer.choices[0].message.content);
}

async function errors() {
  const refused = (kind, code, param, change) => assert.rejects(
    client.chat.completions.create({ model: 'llm-plus', messages: question, ...change }),
    (e) => e instanceof kind && e.code === code && (e.param ?? null) === param && !!e.requestID,
  );
  await refused(OpenAI.BadRequestError, 'InvalidParameter', 'top_p', { top_p: 3 });
  await refused(OpenAI.BadRequestError, 'InvalidParameter', 'logit_bias', { logit_bias: { 1: -100 } });
  await refused(OpenAI.NotFoundError, 'model_not_found', 'model', { model: 'secret-model' });
  const stranger = client.withOptions({ apiKey: 'slk_wrong' });
  await assert.rejects(stranger.chat.completions.create({ model: 'llm-plus', messages: question }), (e) => e instanceof OpenAI.AuthenticationError);
}

// The flaky way answers every first attempt with this status, and passes on the next.
async function retries() {
  for (const status of [429, 503]) {
    const flaky = client.withOptions({ baseURL: `${process.env.FLAKY}/${status}/v1`, maxRetries: 1 });
    assert((await flaky.chat.completions.create({ model: 'llm-plus', messages: question })).choices.length);
  }
}

(async () => {
  for (const [topic, check] of Object.entries({
    models, chat, usage, stream, tools: callTools, 'structured output': structured, 'pictures in a chat': picturesIn, errors, retries,
  })) {
    await check();
    console.log(topic);
  }
})();
