package main

// mutations are faults that tests once did not notice, and similar ones: in the code of limits, holds, keys and bounds.
var mutations = []mutation{
	// Waits told to clients, and refusals.
	{about: "the wait while holds stand in the way is doubled", file: "policy/limit/decide.go", old: "wait = holdsWait", new: "wait = 2 * holdsWait"},
	{about: "a quota is never used up to its end", file: "policy/limit/decide.go", old: "s.Used[q]+s.Held[q]+n <= limit", new: "s.Used[q]+s.Held[q]+n < limit"},
	{about: "one open task too many", file: "policy/limit/decide.go", old: "s.Tasks >= t.Tasks", new: "s.Tasks > t.Tasks"},
	{about: "a shadow is refused", file: "policy/limit/decide.go", old: "case t.Shadow:", new: "case false:"},
	{
		about: "of two waits that are equal the later limit is named", file: "policy/limit/decide.go", old: "wait > s.Wait", new: "wait >= s.Wait",
	},
	{about: "a team counts as active a hundred times as long", file: "policy/limit/failover/allowance.go", old: "allowanceIdle  = time.Minute", new: "allowanceIdle  = 100 * time.Minute"},
	{about: "what is known gets six times as old", file: "policy/limit/failover/allowance.go", old: "renewEvery = 10 * time.Second", new: "renewEvery = 60 * time.Second"},
	{about: "an older copy of the accounts is not noticed", file: "policy/limit/redisstore/scripts/common.lua", old: "tonumber(seq or 0) < tonumber(least)", new: "false"},
	{about: "debt may exceed a full refill", file: "policy/limit/bucket.go", old: "min(missing, 2*b.fullIn)", new: "min(missing, 4*b.fullIn)"},
	{about: "a new rate fills the bucket", file: "policy/limit/bucket.go", old: "if taken {", new: "if false {"},
	{about: "a bucket is full of half a unit", file: "policy/limit/bucket.go", old: "float64(r.Per.Microseconds()))\n\treturn Fill", new: "float64(r.Per.Microseconds()) + 0.5)\n\treturn Fill"},
	{about: "a bucket that comes without Redis is full", file: "policy/limit/buckets.go", old: "newBucket(*r, a.bank.dry.Load(), now)", new: "newBucket(*r, false, now)"},
	{about: "what was held and not used is not given back to the rate", file: "policy/limit/buckets.go", old: "a.buckets[i].give(held[i]-used[i], now)", new: ""},
	{about: "a settlement that is too old is sent as if it were new", file: "policy/limit/failover/settle.go", old: "now.Sub(made) > limit.LateTruth", new: "now.Sub(made) > 2*limit.LateTruth"},
	{about: "the script passes a quota by one", file: "policy/limit/redisstore/scripts/admit.lua", old: "got[used[q] + 1] - limit", new: "got[used[q] + 1] - limit - 1"},
	{about: "the script holds a second time what it holds", file: "policy/limit/redisstore/scripts/admit.lua", old: "if outcome ~= 0 and not again then", new: "if outcome ~= 0 then"},
	{about: "the script sweeps one due hold at an admission", file: "policy/limit/redisstore/scripts/admit.lua", old: "'LIMIT', '0', '16'", new: "'LIMIT', '0', '1'"},
	{about: "the script settles what is settled", file: "policy/limit/redisstore/scripts/settle.lua", old: "elseif hold.state == 'settled' then", new: "elseif false then"},
	{about: "the script forgets periods that run", file: "policy/limit/redisstore/scripts/sweep.lua", old: "elseif what == 'used' or what == 'told' then over = week end", new: "end"},

	// Task queries.
	{about: "nothing is left for clients by the finisher", file: "cache/queries.go", old: "return free > waiting+rate/4", new: "return free > waiting"},

	// Keys.
	{about: "a key with a space or a tab inside is looked up", file: "gateway/authenticate.go", old: `strings.ContainsAny(key, " \t,")`, new: `strings.ContainsAny(key, ",")`},
	{about: "the first of two keys is taken", file: "gateway/authenticate.go", old: "if len(values) != 1 {", new: "if len(values) < 1 {"},
	{about: "the service's own key is not recognised", file: "gateway/upstream/credential.go", old: "subtle.ConstantTimeCompare(digest[:], c.digest[:]) == 1", new: "subtle.ConstantTimeCompare(digest[:], c.digest[:]) == 2"},
	{about: "an endpoint that is not allowed is", file: "gateway/authenticate.go", old: `if s.route.endpoint != "" && !s.team.MayUse(s.route.endpoint) {`, new: "if false {"},
	{about: "a key works at the moment of its end", file: "policy/teams/key.go", old: "bit(!now.Before(expires))", new: "bit(now.After(expires))"},
	{about: "a disabled key works", file: "policy/teams/key.go", old: "bit(owner.key.Disabled) | ", new: ""},
	{about: "a disabled team's keys work", file: "policy/teams/key.go", old: "bit(owner.team.Disabled) | ", new: ""},
	{
		about: "the digest is not compared once more", file: "policy/teams/key.go", old: "same&usable(owner, now) == 0", new: "same|1 == 0 || usable(owner, now) == 0",
		lives: "the map finds what is equal; the comparison is a second lock on the same door",
	},
	{about: "a minted key's id is drawn from ten letters", file: "policy/teams/mint.go", old: "big.NewInt(36)", new: "big.NewInt(10)"},
	{about: "a minted key prints whole", file: "policy/teams/mint.go", old: `keyPrefix+k.ID+"_[redacted]"`, new: "k.whole"},

	// The directory and its audit.
	{about: "an entry that was changed is not noticed", file: "policy/directory/verify.go", old: "case e.Prev != sumOf(p.text):", new: "case false:"},
	{about: "a trail may lack its beginning", file: "policy/directory/verify.go", old: "if p.First > s.First {", new: "if false {"},
	{about: "a document without its entry is opened", file: "policy/directory/entry.go", old: "if last.Digest != digestOf(s.Document) {", new: "if false {"},
	{about: "an entry may have a key", file: "policy/directory/entry.go", old: "if teams.HasPlainKey(text) {", new: "if false {"},
	{about: "a key may live longer than key_days", file: "policy/directory/keys.go", old: "case days > 0 && expires.After(last):", new: "case false:"},
	{about: "a rotation prolongs the old key", file: "policy/directory/keys.go", old: "old.Expires == nil || old.Expires.After(ends)", new: "true"},
	{about: "the script writes after a lost race", file: "policy/directory/store/scripts/write.lua", old: "if (is[1] or '') ~= ARGV[1] then return 0 end", new: ""},
	{about: "the script hides that an entry is missing", file: "policy/directory/store/scripts/write.lua", old: "if oldest[1][2][2] == first then", new: "if true then"},
	{about: "the file is written after a lost race", file: "policy/directory/store/file.go", old: "if is.Head() != was.Head() {", new: "if false {"},
	{about: "the directory takes a team of the file", file: "policy/teams/directory.go", old: "if f.Team(team.ID) != nil {", new: "if false {"},
	{about: "the directory takes the upstream key", file: "policy/teams/directory.go", old: "case k.SHA256 == upstream:", new: "case false:"},
	{about: "an older directory is put in force", file: "cmd/sluice/directory_watch.go", old: "d.Version < version", new: "false"},

	// The gateway's stages.
	{about: "recent refusals are not forgotten at a settlement", file: "gateway/settle.go", old: "a.refusals.forget(team) // the", new: "// the"},
	{about: "an unknown outcome is not held for its hour", file: "gateway/settle.go", old: "_ = a.deps.Accounts.Extend(context.WithoutCancel(ctx), s.held, unknownLease)", new: ""},
	{about: "a creation's server error costs nothing", file: "gateway/outcome.go", old: "s.creates && s.doubtful():", new: "false:"},
	{about: "an answer that was cut is exact", file: "gateway/outcome.go", old: "case known && complete:", new: "case known:"},
	{about: "a task that its stream does not count is settled by the stream", file: "gateway/outcome.go", old: "(s.tellsAll() || s.taskFailed())", new: "(read.Complete || s.taskFailed())"},
	{about: "a stream that ends while its task runs on settles it", file: "gateway/outcome.go", old: "read.Frames > 0 && read.Complete || !status.Runs()", new: "true"},
	{about: "a task may be claimed by a second team", file: "cache/redis_claims.go", old: "err == nil && owner != claim.Team", new: "false && owner != claim.Team"},
	{about: "a header that came twice is taken", file: "gateway/headers.go", old: "len(values) == 1", new: "len(values) >= 1"},
	{about: "upstream's Retry-After is not passed on", file: "gateway/headers.go", old: `{"Content-Type", "Retry-After", "X-Request-Id"}`, new: `{"Content-Type", "X-Request-Id"}`},
	{about: "a connection that waited is not looked at", file: "gateway/upstream/pool.go", old: "if c.taken = now; p.check(c) == nil {", new: "if c.taken = now; true {"},
	{about: "upstream's Retry-After is not covered", file: "gateway/upstream/credential.go", old: "} else if len(values) > 0 {", new: "} else if len(values) > 0 && name != \"Retry-After\" {"},
	{about: "a request is sent twice after a byte has left", file: "gateway/upstream/client.go", old: "if err != nil && !sent && !isTimeout(err) {", new: "if err != nil && !isTimeout(err) {"},
	{about: "a wrong media type is no broken request", file: "gateway/observe.go", old: "refuseLarge.name, refuseMedia.name,", new: "refuseLarge.name,"},
	{about: "a preflight is routed by its own method", file: "gateway/cors.go", old: "return asked[0], true", new: "return r.Method, true"},
	{about: "a refused body is drained without a deadline", file: "gateway/linger.go", old: "_ = w.control.SetReadDeadline(now.Add(w.terms.lingerTime))", new: ""},
	{about: "a body may be one byte too large", file: "gateway/body.go", old: "case int64(len(buf)) > u.maxBody:", new: "case int64(len(buf)) > u.maxBody+1:"},
	{about: "a body's buffer comes back while the body is still sent", file: "gateway/upstream/conn.go", old: "\tc.sending.await()\n", new: ""},
	{about: "a buffer that requests have needed is dropped", file: "gateway/buffers.go", old: "for range s.least {", new: "for range len(s.buffers) {"},
	{about: "a connection is used again although a deadline may stand on it", file: "gateway/upstream/body.go", old: "b.reusable = false //", new: "//"},
	{about: "one unsettled end is kept", file: "gateway/tasks/unsettled.go", old: "const mostUnsettled = 10_000", new: "const mostUnsettled = 1"},
	{about: "a team's bodies may take the whole budget", file: "gateway/budget.go", old: "team > s.budget.total/2 {", new: "team > s.budget.total {"},
	{about: "a place is not given back where there was none", file: "gateway/throttle.go", old: "\t\tslot.release()\n\t\treturn refuse(", new: "\t\treturn refuse("},
	{about: "a refusal is remembered for ten seconds", file: "gateway/recent_refusals.go", old: "const recentFor = time.Second", new: "const recentFor = 10 * time.Second"},
	{
		about: "outcomes of all teams are kept under one", file: "gateway/idempotency.go", old: "IdempotencyName{Team: s.Team, Digest: hex.EncodeToString(sum", new: `IdempotencyName{Team: "any", Digest: hex.EncodeToString(sum`,
		lives: "the digest beside it is of the team, too",
	},
	{about: "an idempotency key with another body runs", file: "gateway/idempotency.go", old: "case was.Body != call.body:", new: "case false:"},
	{about: "a task of another answer is told", file: "gateway/tasks/query.go", old: "answer.Task == task && ", new: ""},
	{about: "an estimate of a task is told as exact", file: "gateway/tasks/end.go", old: "!known && ended.Status == cache.Succeeded", new: "!known && ended.Status == cache.Failed"},

	// Pictures that are fetched.
	{about: "a name may lead to Azure's platform service", file: "gateway/fetch/guard.go", old: "ssrf.WithDeniedV4Prefixes(azure), ", new: ""},
	{about: "the address behind a name is not judged", file: "gateway/fetch/fetch.go", old: ", Control: newGuard(config.Networks).Safe}", new: "}"},
	{about: "a redirect leads anywhere", file: "gateway/fetch/fetch.go", old: "return f.judgeURL(next.URL)", new: "return nil"},
	{about: "a host that is redirected to learns a signed address", file: "gateway/fetch/fetch.go", old: `next.Header.Del("Referer")`, new: ""},
	{about: "a host outside ASCII is taken", file: "gateway/fetch/host.go", old: ` || strings.ContainsFunc(u.Host, strange)`, new: ""},
	{about: "clear text is taken from any host", file: "gateway/fetch/host.go", old: `u.Scheme != "http" || !isLoopback(u.Hostname())`, new: `u.Scheme != "http"`},
	{about: "a chunked picture may be any size", file: "gateway/fetch/copy.go", old: "case size > f.bounds.largest:", new: "case false:"},
	{about: "a picture that was cut is whole", file: "gateway/fetch/copy.go", old: "err != nil && !errors.Is(err, io.EOF)", new: "err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF)"},
	{about: "pictures are fetched although no host is listed", file: "gateway/front.go", old: "err == nil && request.Base64 && !f.fetcher.Allowed()", new: "false"},
	{about: "a picture that cannot be fetched is paid again", file: "gateway/front_encoded.go", old: "\tw.front.Final = true\n", new: ""},

	// Log, metrics and answers.
	{about: "the upstream id is not cut short in the log", file: "telemetry/logline.go", old: "&r.ID, &r.UpstreamID,", new: "&r.ID,"},
	{about: "a page of any site may read answers", file: "gateway/cors.go", old: "return c.origins[values[0]]", new: "return values"},
	{about: "any status is a label", file: "telemetry/labels.go", old: `if status == statusClientLeft || http.StatusText(status) != "" {`, new: "if status > 0 {"},
}
