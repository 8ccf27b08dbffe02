// Package tasks follows a task from the answer that names it until its end is charged: whose it is, its last known state, and
// when to query the service for a newer one.
//
// It queries the service through one function, and keeps the tasks in [Claims]. In memory it has only the running queries and the
// ends that are not charged yet. It promises that a task is shown to its own team only, that the service is queried about it once
// an interval however many clients poll, and that its end is charged once.
package tasks
