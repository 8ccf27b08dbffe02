// Package redisstore keeps the accounts of package limit in Redis, where all replicas share them.
//
// It promises what limit promises, even if calls are repeated, executed late, or lose their replies. Every change is one Lua script
// (directory scripts), and every change of a team's accounts raises their sequence number, so that a caller notices lost or older
// memory. Then each replica restores what it knows (restore.lua). Package failover handles outages of Redis.
//
// # Keys
//
// sl1 is the layout's version; replicas of two versions must not share one. The keys of one team have its id as their hash tag, so
// they are in one slot of a cluster.
//
//	key                                   type   lives                      what
//	sl1:epoch                             string for ever                   the name of Redis's memory
//	sl1:currency_digits                   string for ever                   the decimals of amounts of money: 9 or 6
//	sl1:teams                             set    for ever                   the teams that ever sent a request
//	sl1:replicas                          hash   fields 49 h                when each replica was alive, and outages
//	sl1:{sl1:replicas}:parts              hash   fields 10 min              each replica's part of what may be in flight
//	sl1:account:{account}:<models>:<unit> string two refills and a minute   a bucket of the account main; of another: <id> <models>
//	sl1:{<team>}:rate:<unit>              string two refills and a minute   a bucket: "<full at, µs> <limit> <per, µs> <burst>"
//	sl1:{<team>}:quota                    hash   for ever; old fields go    <day or month>:<unit>:used, held, aside, told, copy; tasks;
//	                                                                        epoch, seq, restoring; past: how often days that are over
//	                                                                        were changed
//	sl1:{<team>}:open                     zset   for ever                   ids of open holds, by the end of their leases
//	sl1:{<team>}:hold:<id>                string open: for ever; expired:   a hold's text, see holds.lua; of a settled one "1"
//	                                             49 h; settled: tasks 49 h,
//	                                             the rest 15 min
//	sl1:{<team>}:settled:<time>           string 15 min after the last      ids of holds that are settled and have no key any more
//	sl1:{<team>}:hold:<id>                hash   400 days                   a correction, who ordered it and why
//	sl1:{<team>}:aside                    hash   400 days                   <replica>:<day>: an allowance, see aside.lua
//	sl1:{<team>}:use:<yyyymmdd>           hash   400 days                   the ledger: <model>|<endpoint>|<unit>, its part |estimated;
//	                                                                        after the endpoint @<account> if that is not main; by kind:
//	                                                                        see kinds.lua
//	sl1:{<team>}:use:<yyyymmdd>:tags      hash   400 days                   the same for tags: <tag>||<unit>; #<tag> for each of 1,000 at
//	                                                                        most, # their number
//	sl1:{<team>}:use:late                 hash   400 days                   <yyyymmdd>: when a day's ledger was last changed, µs, if that
//	                                                                        was more than a day after the day
//	sl1:{<team>}:events, …:due:<hook>, …:firsts: a stream, a sorted set and a hash, see package outbox
package redisstore
