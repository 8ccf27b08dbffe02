package quotas

import (
	"sluice/policy/account"
	"sluice/policy/event"
	"sluice/policy/teams"
	"sluice/telemetry"
)

// RareOf are the labels of rare events' counters that can occur with these teams.
func RareOf(file *teams.File) telemetry.Rare {
	rare := telemetry.Rare{Alarms: account.UnpaidCodes()}
	if len(file.Prices) > 0 {
		rare.Models = teams.Labels(file)
	}
	for _, owner := range append([]*teams.Team{{ID: event.Operators, Hooks: file.Hooks}}, file.List...) {
		for i := range owner.Hooks {
			rare.Hooks = append(rare.Hooks, owner.Hooks[i].ID)
		}
	}
	if file.House != nil {
		for _, q := range file.House.Account.Quotas {
			for _, percent := range file.House.Alert {
				rare.House = append(rare.House, telemetry.Passed{Unit: string(q.Unit), Period: string(q.Period), Percent: percent})
			}
		}
	}
	return rare
}
