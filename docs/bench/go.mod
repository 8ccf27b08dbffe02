module sluice/docs/bench

go 1.26
