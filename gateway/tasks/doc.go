// Package tasks follows a task from the answer that names it to the charge that its end makes: whose it is, what was last
// heard of it, when the service is asked, and who is told.
//
// It asks the service through one function that it is given, and keeps nothing itself but what this process alone must
// remember: which queries run, and which ends are not charged yet. It promises that a task is told to its own team alone,
// that however many clients poll it the service is asked once an interval, and that its end is charged once.
package tasks
