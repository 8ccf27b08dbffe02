// Drives Anthropic's JavaScript library against Sluice. Each line on standard output names a topic that passed.
const assert = require('node:assert/strict');
const Anthropic = require('@anthropic-ai/sdk').default;

const client = new Anthropic(); // ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY
const asked = { model: 'llm-plus', max_tokens: 500, messages: [{ role: 'user', content: 'What is a sluice?' }] };
const input_schema = { type: 'object', properties: { river: { type: 'string' } }, required: ['river'] };
const tools = [{ name: 'water_level', description: 'The level of a river', input_schema }];

async function models() {
  const names = [];
  for await (const model of client.models.list()) names.push(model.id);
  assert(names.includes('llm-plus') && names.includes('gpt-4o'), String(names));
}

let whole;
async function create() {
  const answer = await client.messages.create(asked);
  assert.equal(answer.stop_reason, 'end_turn');
  whole = answer.content[0].text;
  assert(whole && answer._request_id);
}

async function usage() {
  const { usage, stop_reason } = await client.messages.create({ ...asked, max_tokens: 5 });
  assert(usage.output_tokens === 5 && usage.input_tokens > 0 && stop_reason === 'max_tokens');
  const { max_tokens, ...counted } = asked;
  assert((await client.messages.countTokens(counted)).input_tokens > 0);
}

async function stream() {
  const events = client.messages.stream(asked);
  assert.equal(await events.finalText(), whole);
  assert.equal((await events.finalMessage()).stop_reason, 'end_turn');
}

async function thinking() {
  const thinks = { ...asked, max_tokens: 3000, thinking: { type: 'enabled', budget_tokens: 1024 } };
  const answer = await client.messages.create(thinks);
  assert.deepEqual(answer.content.map((block) => block.type), ['thinking', 'text']);
  const streamed = await client.messages.stream(thinks).finalMessage();
  assert.equal(streamed.content[0].thinking, answer.content[0].thinking);
}

async function callTools() {
  const ask = [{ role: 'user', content: 'Which water_level has the Elbe?' }];
  const answer = await client.messages.create({ ...asked, messages: ask, tools });
  const call = answer.content.at(-1);
  assert(answer.stop_reason === 'tool_use' && call.name === 'water_level' && 'river' in call.input);
  const streamed = await client.messages.stream({ ...asked, messages: ask, tools }).finalMessage();
  assert.deepEqual(streamed.content.at(-1).input, call.input);
  const result = { type: 'tool_result', tool_use_id: call.id, content: '2.1 m' };
  const back = [...ask, { role: 'assistant', content: answer.content }, { role: 'user', content: [result] }];
  assert.equal((await client.messages.create({ ...asked, messages: back, tools })).stop_reason, 'end_turn');
}

async function errors() {
  await assert.rejects(client.messages.create({ ...asked, top_p: 3 }), (e) => e instanceof Anthropic.BadRequestError && /top_p: given 3/.test(e.message) && e.requestID.length > 0);
  await assert.rejects(client.messages.create({ ...asked, model: 'secret-model' }), Anthropic.NotFoundError);
  await assert.rejects(new Anthropic({ apiKey: 'slk_wrong' }).messages.create(asked), Anthropic.AuthenticationError);
}

(async () => {
  for (const [topic, drive] of Object.entries({ models, create, usage, stream, thinking, tools: callTools, errors })) {
    await drive();
    console.log(topic);
  }
})();
