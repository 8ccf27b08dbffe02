// Package outbox keeps events and their deliveries in Redis, where all replicas share them: the other form of [event.Memory].
//
// It promises what [event.Outbox] says, even if calls are repeated, executed late, or lose their replies. Each change of an owner's events
// is one Lua script (directory scripts). Package redisstore uses scripts/write.lua in its own, so that a settlement and its event are
// written together or not at all.
//
// # Keys
//
// The keys of one owner have the owner as their hash tag, like its accounts. A target is a hook's id, with a leading @ if
// the hook is the operators', and after a space the path of a request's callback. A place is an event's place in the
// stream, <ms>-<number>, from which its id follows.
//
//	key                          type   lives                           what
//	sl1:{<owner>}:events         stream an event's life after the last  the owner's events: t type, d data, h targets, one a line
//	sl1:{<owner>}:due:<hook>     zset   an event's life after the last, deliveries that wait: place and path, by when they are due, ms
//	                                    and an hour
//	sl1:{<owner>}:tried:<n>      hash   an event's life after day n     of events of day n since 1970: <place> <target>: state, tries,
//	                                                                    status, last and next try, ms
//	sl1:{<owner>}:lost           hash   an event's life after the last  by hook: deliveries that waited when their event was dropped, until
//	                                                                    they are counted
//	sl1:{<owner>}:firsts         hash   62 days after the last          names of what is reported once, and its limit
//	sl1:{<owner>}:firsts:<p>     hash   2 days, of a month 33           those of values of a tag and of keys in a day or month
//	sl1:{<owner>}:works          hash   a work's life after the last    tasks whose pictures wait: a work as JSON, by the task's id
//	sl1:{<owner>}:works:due      zset   a work's life after the last    those tasks, by when they are tried, ms
//	sl1:{<owner>}:works:late     zset   a work's life after the last    successes not announced yet, by when they must be, ms
//	sl1:{<owner>}:works:told     hash   a work's life after the last    how many pictures an announced success said are stored, while others
//	                                                                    wait
//	sl1:{<owner>}:succeeded:<n>  hash   8 days after the last           tasks that succeeded on a day, yyyymmdd, and how many pictures they
//	                                                                    have
//	sl1:due                      zset   for ever                        <owner> <hook> for which deliveries wait, by when the first is due,
//	                                                                    ms
//	sl1:{sl1:due}:seats:<..>     zset   12 s after the last             of a hook, as in sl1:due, or an operators' one: its deliveries under
//	                                                                    way, by when they stop counting, ms
//	sl1:ended                    hash   for ever                        hooks that were answered with 410, <owner> <hook>: a digest of their
//	                                                                    lines
//	sl1:{sl1:ended}:at           hash   for ever                        when each of them was, ms
//	sl1:due:walk                 string 30 s                            some replica has looked for pairs that are not in sl1:due
//	sl1:streams                  zset   an event's life after the last  owners of whose events a stream is open, by when it last was, ms;
//	                                                                    the empty one: the version
//	sl1:works:due                zset   for ever                        owners of works, by when their first is due, ms; so is
//	                                                                    sl1:works:late
//	sl1:works:walk               string 30 s                            some replica has looked for owners that are not in those two
//
// The bound on an owner's events also bounds everything that belongs to them: a script that writes an event drops the events whose life has
// ended, at most a hundred, or those beyond the bound, and with them their deliveries and the rows of their tries. A delivery that is
// under way stays until its outcome is recorded or its lease ends. A replica of the previous version drops no delivery with its event;
// then the member of due is removed when it is due.
//
// A work lives as long as an event, but at least 49 hours, and besides as long as its event may be held back.
//
// sl1:due is in another slot than the events, so a pair may be missing there after a lost reply or the death of a process. A walk over all
// owners finds it.
package outbox
