// Package mirror keeps the pictures of tasks for longer than the service does: in the operator's own store.
//
// It fetches each picture of a task that succeeded once, and puts it into the store before the success is told, for ten minutes at most;
// what is stored later is told by an event of its own. Which tasks those are is the outbox's: their works are written with their charges,
// and one replica at a time has each, so a replica that is killed loses none. While the store is away works wait. What is never stored is
// counted and logged with its task's id.
//
// It also finds a stored picture for its team, removes what was kept for as long as its team says, and compares a day's successes with the
// store. It decides nothing about who may ask, alters no answer of the service, and logs no address: those of pictures are signed.
package mirror
