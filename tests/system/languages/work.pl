#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Large strings, forks in a row and side by side, children by system() and a pipe: what it prints is the same in each run.
use strict;
use warnings;
use Digest::SHA qw(sha256_hex);

$| = 1;

# A string of this length that follows from the seed
sub blob {
	my ($seed, $size) = @_;
	my $s = sha256_hex($seed);
	$s .= sha256_hex($s) while length($s) < 4096;
	return substr($s x (1 + $size / length($s)), 0, $size);
}

my @kept = map { blob($_, 100000 * $_) } 1 .. 12;
my @pipes;
for my $i (0 .. 5) {
	my $pid = open(my $from, '-|') // die "fork: $!";
	if (!$pid) {
		my $before = sha256_hex(join '', @kept);
		$_ = reverse $_ for @kept;
		my $grown = blob($i, 2000000);
		$grown .= 'x' x 1000000;
		print "$i $before ", sha256_hex(join('', @kept)), ' ', sha256_hex($grown), "\n";
		exit 0;
	}
	push @pipes, $from;
	substr($kept[$i], 5000, 1) = chr(65 + $i);
}
for my $from (@pipes) {
	print 'child ', <$from>;
	close($from) or die "child: $?";
}
print 'own ', sha256_hex(join '', @kept), "\n";
system('echo from a shell') == 0 or die 'system';
my $piped = `perl -e 'print length("y" x 3000000)'`;
print "program $piped\n";
for my $i (1 .. 300) {
	push @kept, blob($i, 150000);
	shift @kept;
}
print 'garbage ', sha256_hex(join '', @kept), "\n";
open(my $maps, '<', '/proc/self/maps') or die $!;
print STDERR 'ruse-memory ', scalar(grep { m{/memfd:ruse-memory} } <$maps>), "\n";
