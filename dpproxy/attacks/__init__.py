"""What a hostile analyst would try, as statements over the tables of any policy, and how two twins are asked them."""
