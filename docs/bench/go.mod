module sluicebench

go 1.26
